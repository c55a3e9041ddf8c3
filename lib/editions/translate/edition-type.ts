import type { FieldItem } from './edition-json.ts'
import { invalid } from './failures.ts'

/**
 * The edition type to add to a new edition that has only a bundle: the one with the bundle's name,
 * if there is one.
 * @param items of the edition type in the body, if it has any
 * @param readTypes reads the edition types of the site; called only where they matter
 * @throws {Failure} UNPROCESSABLE, as core validates, where bundle and edition type name two
 *   different edition types
 */
export async function typeOf(
  bundle: string,
  items: FieldItem[] | undefined,
  readTypes: () => Promise<string[]>,
  field: string
): Promise<string | undefined> {
  if (items === undefined) return (await readTypes()).includes(bundle) ? bundle : undefined
  const type = items[0]?.value
  if (typeof type !== 'string' || type === bundle) return undefined
  const types = await readTypes()
  // Drupal itself refuses a value that is not an edition type.
  if (!types.includes(bundle) || !types.includes(type)) return undefined
  throw invalid([
    {
      path: `${field}.0.value`,
      message: `The edition type "${type}" contradicts the bundle "${bundle}".`
    }
  ])
}
