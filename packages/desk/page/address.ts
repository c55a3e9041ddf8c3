import type { Model } from './settings.ts'

/** What the list shows. `offset` is how many rows come before the page. */
export interface Query {
  q: string
  bundle: string
  type: string
  status: string
  key: string
  offset: number
}

/**
 * The criteria that the site's editions can be searched by. The service refuses a criterion whose
 * field the content model does not have.
 */
export function criteriaOf({
  keys,
  fields
}: Pick<Model, 'keys' | 'fields'>): Array<keyof Omit<Query, 'offset'>> {
  const names = {
    q: keys.label ?? fields.key,
    bundle: keys.bundle,
    type: fields.editionType,
    status: keys.published,
    key: fields.key
  }
  return (Object.keys(names) as Array<keyof typeof names>).filter(
    (criterion) => names[criterion] !== null
  )
}

/**
 * Where the reader is, by the part of the address behind the #. `unknown` is an address that the
 * page does not have; `id` is what it has in the place of an edition's id.
 */
export type Place =
  | { view: 'list'; query: Query }
  | { view: 'edition'; id: string }
  | { view: 'new'; from?: string }
  | { view: 'unknown'; id?: string }

/** An edition's number or UUID, as the service takes it. */
const EDITION_ID = /^(?:[1-9]\d{0,18}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

/** How deep a page may be: the service answers up to 100 000 (docs/limits.md). */
const OFFSET = /^(?:\d{1,5}|100000)$/

/** How much is shown of an id that cannot be one. */
const ID_SHOWN = 60

/** @param hash such as `#/editions/12` or `#/?q=november&offset=20`; an empty one is the list */
export function placeOf(hash: string): Place {
  const end = `${hash}?`.indexOf('?')
  const path = hash.slice(0, end).replace(/^#|\/$/g, '')
  const parameters = new URLSearchParams(hash.slice(end))
  if (path.startsWith('/editions/')) return placeOfId('edition', path.slice('/editions/'.length))
  if (path === '/new') {
    const from = parameters.get('from')
    if (from === null) return { view: 'new' }
    return from === 'latest' ? { view: 'new', from } : placeOfId('new', from)
  }
  if (path !== '') return { view: 'unknown' }
  const text = (name: string) => parameters.get(name) ?? ''
  const offset = OFFSET.test(text('offset')) ? Number(text('offset')) : 0
  const status = ['0', '1'].includes(text('status')) ? text('status') : ''
  return {
    view: 'list',
    query: {
      q: text('q'),
      bundle: text('bundle'),
      type: text('type'),
      status,
      key: text('key'),
      offset
    }
  }
}

/** @param text an id as the address has it */
function placeOfId(view: 'edition' | 'new', text: string): Place {
  if (EDITION_ID.test(text)) return view === 'new' ? { view, from: text } : { view, id: text }
  const id = [...decode(text)]
  return {
    view: 'unknown',
    id: id.length > ID_SHOWN ? `${id.slice(0, ID_SHOWN).join('')}…` : id.join('')
  }
}

/** The text that is percent-encoded; one that is not is taken as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The address of a list. It names only what differs from the first page of all editions. */
export function listAddress(query: Partial<Query>): string {
  const parameters = Object.entries(query)
    .filter(([, value]) => value !== '' && value !== 0)
    .map(([name, value]) => [name, String(value)])
  return parameters.length === 0
    ? '#/'
    : `#/?${new URLSearchParams(parameters as Array<[string, string]>)}`
}

export function editionAddress(id: string): string {
  return `#/editions/${id}`
}

/**
 * The address of the form for a new edition.
 * @param from the edition to duplicate, `latest` for the newest
 */
export function newAddress(from?: string): string {
  return `#/new${from === undefined ? '' : `?${new URLSearchParams({ from })}`}`
}

/**
 * Where the service is: what stands before /desk in the path of the page. Empty at the root of a
 * host.
 * @param pathname that of the page, such as `/quoin/desk`
 */
export function serviceOf(pathname: string): string {
  return pathname.slice(0, pathname.lastIndexOf('/'))
}

/** Who sits here by `?as=anna`: only for trying, where callers are not known. */
export function seatOf(search: string): { uid: string; name: string } | undefined {
  const as = new URLSearchParams(search).get('as')?.trim()
  if (!as) return undefined
  return {
    uid: encodeURIComponent(as.toLowerCase()).slice(0, 255),
    name: as.charAt(0).toUpperCase() + as.slice(1)
  }
}
