import { createClient } from '@quoin/client'

/**
 * How long before its end a token is fetched anew, in milliseconds: longer than an open form sends
 * nothing, so that there is a good one when the page goes.
 */
const EARLY_MS = 60_000

/** How long Drupal may take to give a token, in milliseconds. */
const TOKEN_MS = 10_000

/** What is written although the page goes (Fetch Standard, keepalive). */
const LAST_WORDS = /\/api\/cloud\/data-state\/[^/]+\/[^/]+(?:\/requests|\/presence)?\?/

/**
 * Quoin's client for who is logged in to Drupal: by a token where Drupal gives one, else by the
 * session's cookie, which reaches a Quoin on the same host.
 */
export function createService({ url, token, user, base }) {
  return createClient({
    url,
    user,
    headers: token ? bearer(token) : csrfHeaders(url, base),
    fetch: fetchLast
  })
}

function fetchLast(address, init) {
  const isLast = init?.method === 'DELETE' && LAST_WORDS.test(String(address))
  return fetch(address, isLast ? { ...init, keepalive: true } : init)
}

async function answerOf(address) {
  const answer = await fetch(address, {
    signal: AbortSignal.timeout(TOKEN_MS),
    credentials: 'same-origin'
  })
  if (!answer.ok) throw new Error(`${address} was answered ${answer.status}`)
  return answer
}

/** Authorization with a token that holds; all who ask at once get the same. */
function bearer(address) {
  let current
  let endsAt = 0
  let early = EARLY_MS
  // A page that goes cannot wait for another one.
  window.addEventListener('pagehide', () => {
    early = 0
  })
  async function get() {
    const { token, expires } = await (await answerOf(address)).json()
    endsAt = expires * 1000
    return { authorization: `Bearer ${token}` }
  }
  return () => {
    if (!current || (endsAt > 0 && Date.now() > endsAt - early)) {
      endsAt = 0
      current = get()
      current.catch(() => {
        current = undefined
      })
    }
    return current
  }
}

/** Drupal wants a token of its own with whatever is written under a session. */
function csrfHeaders(url, base) {
  if (new URL(url, window.location.href).origin !== window.location.origin) return undefined
  let current
  return () => {
    current ??= answerOf(`${base}session/token`).then(
      async (answer) => ({ 'x-csrf-token': await answer.text() }),
      () => {
        current = undefined
        return {}
      }
    )
    return current
  }
}
