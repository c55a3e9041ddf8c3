import { html, nothing, type TemplateResult } from 'lit-html'
import type { Seat } from './seat.ts'
import { notice } from './ui.ts'
import { nameOf } from './words.ts'

/** What to do where nobody is known. */
export function seatView (seat: Seat): TemplateResult {
  const { auth, reason } = seat
  const why = reason === undefined ? nothing : notice('bad', reason)
  switch (auth) {
    case 'none': return html`<div class="seats"><h1 tabindex="-1">Who are you?</h1>
      <p>Take a seat. Open two of them beside each other and see who edits what.</p>
      <p class="choices"><a class="button primary" href="?as=anna">Anna</a> <a class="button primary" href="?as=ben">Ben</a></p>
      <form method="get" @submit=${(event: Event) => {
        event.preventDefault()
        const name = new FormData(event.target as HTMLFormElement).get('as')
        if (name) location.search = `?${new URLSearchParams({ as: String(name) })}`
      }}><label>Another name<input name="as" required maxlength="60" autocomplete="nickname"></label> <button type="submit">Sit down</button></form></div>`
    case 'jwt': return html`<div class="seats"><h1 tabindex="-1">Who are you?</h1>${why}
      <p>This service knows its users by tokens (AUTH=jwt). The token stays in this tab.</p>
      ${tokenForm(seat)}</div>`
    case 'drupal': return html`<div class="seats"><h1 tabindex="-1">Please log in</h1>${why}
      <p>This service knows its users by their Drupal session (AUTH=drupal). Log in to Drupal in this browser, then come back.</p>
      <p>${loggedIn(seat)}</p></div>`
  }
}

/** What to do where a session has ended; what was typed since stands below it. */
export function endedView (seat: Seat): TemplateResult {
  return seat.auth === 'jwt'
    ? notice('bad', `${seat.reason} Sign in with a new token to go on.`, tokenForm(seat))
    : notice('bad', `${seat.reason} Log in to Drupal in another tab to go on.`, loggedIn(seat))
}

/** What to do where somebody else is signed in; nothing of the one who sat here is shown. */
export function otherView (seat: Seat): TemplateResult {
  const [user, other] = [nameOf(seat.user!), nameOf(seat.other!)]
  return html`<div class="seats"><h1 tabindex="-1">${other} is signed in now</h1>
    ${notice('warn', `Nothing is sent any more. What ${user} had typed and not saved is kept for ${user} in this browser alone.`)}
    <p><button type="button" class="primary" @click=${() => seat.leave()}>Go on as ${other}</button></p>
    <p>To go on as ${user}, ${seat.auth === 'jwt' ? 'sign in again.' : 'log in to Drupal again in another tab.'}</p>
    ${seat.auth === 'jwt' ? tokenForm(seat) : loggedIn(seat)}</div>`
}

function tokenForm ({ resume }: Seat): TemplateResult {
  return html`<form @submit=${(event: Event) => {
    event.preventDefault()
    resume(String(new FormData(event.target as HTMLFormElement).get('token')))
  }}><label>Access token<input name="token" type="password" required autocomplete="off"></label> <button type="submit" class="primary">Sign in</button></form>`
}

function loggedIn ({ resume }: Seat): TemplateResult {
  return html`<button type="button" class="primary" @click=${() => resume()}>I have logged in</button>`
}
