import { JSONAPI, type Behaviour, type Said } from './hostile-cms.ts'
import { daily, individual } from './scripted-cms.ts'

/** The uuid of an edition of a large site. */
export function uuidOf(id: number): string {
  return `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`
}

/**
 * A site of so many daily editions, with a value of so many characters each. It takes a PATCH as it comes and does not filter.
 * @param kind one long text, or a list of small values, which take more memory; of a page of 50 as many as may be
 * @param onWrite called with each PATCH
 */
export function largeSite(
  editions: number,
  characters: number,
  { kind = 'text', onWrite = () => {} }: { kind?: 'text' | 'values'; onWrite?: () => void } = {}
): Behaviour {
  const value =
    kind === 'text'
      ? 'x'.repeat(characters)
      : Array.from({ length: characters / 100 }, (_, n) => ({ value: `abc ${n}`.padEnd(60), format: `f${n % 7}`, weight: n }))
  return ({ method, path, query, body }) => {
    if (path !== daily && !path.startsWith(`${daily}/`)) return undefined
    const resource = (id: number) => ({
      ...individual.data,
      id: uuidOf(id),
      attributes: { ...individual.data.attributes, drupal_internal__id: id, field_large: value },
      relationships: {}
    })
    const uuid = path.slice(daily.length + 1)
    if (uuid) {
      const { attributes, ...rest } = resource(Number(uuid.slice(-12)))
      if (method === 'PATCH') onWrite()
      return document({ ...rest, attributes: { ...attributes, ...(method === 'PATCH' && JSON.parse(body).data.attributes) } })
    }
    const offset = Number(query.get('page[offset]') ?? 0)
    const size = Number(query.get('page[limit]') ?? 50)
    return document(
      Array.from({ length: Math.min(size, editions - offset) }, (_, index) => resource(editions - offset - index)),
      offset + size < editions
    )
  }
}

function document(data: unknown, hasNext = false): Said {
  return { headers: JSONAPI, body: { data, ...(hasNext && { links: { next: { href: 'http://cms.example/next' } } }) } }
}
