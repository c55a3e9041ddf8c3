import { placeOf, serviceOf } from './address.ts'
import { ANSWER_MS, bearer, tokenOfTab } from './early-answers.ts'
import type { Settings } from './settings.ts'

// The page has this script in it. It begins to read the edition that the address names, while the
// page's script is still on its way; `early-answers.ts` hands the answers out.

declare global {
  interface Window {
    /** The answers to the requests that the page sent before its script was there, by address. */
    early?: Map<string, Promise<Response>>
  }
}

const { auth }: Settings = JSON.parse(document.documentElement.dataset['settings']!)
const place = placeOf(location.hash)
const token = auth === 'jwt' ? tokenOfTab() : null
if (place.view === 'edition' && (auth !== 'jwt' || token)) {
  window.early = new Map(
    [
      `${serviceOf(location.pathname)}/api/collection/${place.id}`,
      `api/desk/samples/${place.id}`
    ].map((path) => {
      const answer = fetch(path, { headers: bearer(token), signal: AbortSignal.timeout(ANSWER_MS) })
      answer.catch(() => {})
      return [new URL(path, location.href).href, answer]
    })
  )
}
