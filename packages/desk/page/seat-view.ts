import { html, nothing, type TemplateResult } from 'lit-html'
import type { Seat } from './seat.ts'
import { say } from './texts.ts'
import { notice } from './ui.ts'
import { nameOf } from './words.ts'

/** What to do where nobody is known. */
export function seatView(seat: Seat): TemplateResult {
  const { auth, reason } = seat
  const why = reason === undefined ? nothing : notice('bad', reason)
  switch (auth) {
    case 'none':
      return html`<div class="seats"><h1 tabindex="-1">${say('whoAreYou')}</h1>
      <p>${say('takeSeat')}</p>
      <p class="choices"><a class="button primary" href="?as=anna">Anna</a> <a class="button primary" href="?as=ben">Ben</a></p>
      <form method="get" @submit=${(event: Event) => {
        event.preventDefault()
        const name = new FormData(event.target as HTMLFormElement).get('as')
        if (name) location.search = `?${new URLSearchParams({ as: String(name) })}`
      }}><label>${say('anotherName')}<input name="as" required maxlength="60" autocomplete="nickname"></label> <button type="submit">${say('sitDown')}</button></form></div>`
    case 'jwt':
      return html`<div class="seats"><h1 tabindex="-1">${say('whoAreYou')}</h1>${why}
      <p>${say('knownByToken')}</p>
      ${tokenForm(seat)}</div>`
    case 'drupal':
      return html`<div class="seats"><h1 tabindex="-1">${say('pleaseLogIn')}</h1>${why}
      <p>${say('knownBySession')}</p>
      <p>${loggedIn(seat)}</p></div>`
  }
}

/** What to do where a session has ended; what was typed since stands below it. */
export function endedView(seat: Seat): TemplateResult {
  return seat.auth === 'jwt'
    ? notice('bad', say('endedToken', { reason: seat.reason! }), tokenForm(seat))
    : notice('bad', say('endedSession', { reason: seat.reason! }), loggedIn(seat))
}

/**
 * What to do where somebody else is signed in; nothing of the one who sat here is shown.
 * @param isOnDisk whether all their texts are on the browser's disk
 */
export function otherView(seat: Seat, isOnDisk: boolean): TemplateResult {
  const [user, other] = [nameOf(seat.user!), nameOf(seat.other!)]
  const what = say('nothingSent', { user })
  return html`<div class="seats"><h1 tabindex="-1">${say('otherSignedIn', { other })}</h1>
    ${notice('warn', `${say(isOnDisk ? 'aloneInBrowser' : 'aloneInWindow', { what })}.`)}
    <p><button type="button" class="primary" @click=${() => seat.leave()}>${say('goOnAs', { other })}</button></p>
    <p>${say(seat.auth === 'jwt' ? 'toGoOnToken' : 'toGoOnSession', { user })}</p>
    ${seat.auth === 'jwt' ? tokenForm(seat) : loggedIn(seat)}</div>`
}

function tokenForm({ resume }: Seat): TemplateResult {
  return html`<form @submit=${(event: Event) => {
    event.preventDefault()
    resume(String(new FormData(event.target as HTMLFormElement).get('token')))
  }}><label>${say('accessToken')}<input name="token" type="password" required autocomplete="off"></label> <button type="submit" class="primary">${say('signIn')}</button></form>`
}

function loggedIn({ resume }: Seat): TemplateResult {
  return html`<button type="button" class="primary" @click=${() => resume()}>${say('haveLoggedIn')}</button>`
}
