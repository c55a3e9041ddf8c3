import type { Item } from './edition-json.ts'
import { invalid } from './failures.ts'

/**
 * The edition type to add to a new edition of which only the bundle was sent: the one of the bundle's name, where there is one.
 * @param sent the edition type's items in the body, if it is there
 * @param allowed gives the edition types of the site; asked only where it matters
 * @throws {Failure} UNPROCESSABLE, as core validates, where bundle and edition type name two different edition types
 */
export async function typeOf (bundle: string, sent: Item[] | undefined, allowed: () => Promise<string[]>, field: string): Promise<string | undefined> {
  if (sent === undefined) return (await allowed()).includes(bundle) ? bundle : undefined
  const type = sent[0]?.value
  if (typeof type !== 'string' || type === bundle) return undefined
  const types = await allowed()
  // What is no edition type at all Drupal refuses itself.
  if (!types.includes(bundle) || !types.includes(type)) return undefined
  throw invalid([{ path: `${field}.0.value`, message: `The edition type "${type}" contradicts the bundle "${bundle}".` }])
}
