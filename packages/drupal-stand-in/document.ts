import { randomBytes } from 'node:crypto'

/** A resource left out of an answer: where it is, and why it is not shown. */
export interface OmittedEntity {
  href: string
  detail: string
}

const jsonapi = {
  version: '1.0',
  meta: { links: { self: { href: 'http://jsonapi.org/format/1.0/' } } }
}

const help = 'https://www.drupal.org/docs/8/modules/json-api/filtering#filters-access-control'

const salt = () =>
  randomBytes(8)
    .toString('base64')
    .replace(/[^a-zA-Z0-9]/g, '')
    .padEnd(7, 'x')
    .slice(0, 7)

/** `meta.omitted`, whose link keys are random in every answer. */
export function omittedMeta(omissions: OmittedEntity[]): Record<string, unknown> {
  if (omissions.length === 0) return {}
  const items = omissions.map(({ href, detail }) => [
    `item--${salt()}`,
    { href, meta: { rel: 'item', detail } }
  ])
  return {
    omitted: {
      detail: 'Some resources have been omitted because of insufficient authorization.',
      links: { help: { href: help }, ...Object.fromEntries(items) }
    }
  }
}

export interface Parts {
  data: unknown
  meta?: Record<string, unknown>
  links: Record<string, { href: string }>
  included?: unknown[]
}

/** A whole JSON:API document; `meta` and `included` are left out when empty. */
export function document({ data, meta = {}, links, included = [] }: Parts): object {
  return {
    jsonapi,
    data,
    ...(Object.keys(meta).length > 0 ? { meta } : {}),
    links,
    ...(included.length > 0 ? { included } : {})
  }
}

/** A JSON:API document of errors. */
export const errorDocument = (errors: object[]): object => ({ jsonapi, errors })
