import type { RequestUser, Login } from './login.ts'
import type { IncomingHttpHeaders } from 'node:http'
import { document } from './document.ts'
import { readBody } from './denormalize.ts'
import { CmsError } from './errors.ts'
import { sortedUrl, type PhpQuery } from './query.ts'
import {
  entityDocument,
  readCollection,
  readIndividual,
  readRelated,
  readRelationship,
  relationshipDocument,
  type Request
} from './read.ts'
import { changeRelationship } from './relationships.ts'
import {
  allowedMethods,
  notConverted,
  requireContentType,
  requireMethod,
  type Route
} from './routes.ts'
import { resourceTypes, type Site } from './site.ts'
import { requireRevision } from './module.ts'
import { create, requireAccess, requireCreateAccess, update } from './write.ts'

/** An answer before it is written: the body is JSON unless it is text. */
export interface CmsAnswer {
  status: number
  headers?: Record<string, string>
  body?: object | string
}

/** A request after its head was read. */
export interface Incoming {
  method: string
  url: string
  query: PhpQuery
  headers: IncomingHttpHeaders
  caller: RequestUser
  text: string
}

const mediaType = 'application/vnd.api+json'

const isWrite = (method: string) => method === 'POST' || method === 'PATCH' || method === 'DELETE'

const parametersSpec = 'http://jsonapi.org/format/#query-parameters'

const parameters = new Set(['filter', 'sort', 'page', 'fields', 'include', 'resourceVersion'])

/**
 * Refuses parameters of lower-case letters that JSON:API does not know; any other character makes
 * them pass.
 */
function checkParameters(query: PhpQuery): void {
  const unknown = Object.keys(query).filter(
    (name) => /^[a-z]+$/.test(name) && !parameters.has(name)
  )
  if (unknown.length === 0) return
  throw new CmsError(
    400,
    `The following query parameters violate the JSON:API spec: '${unknown.join("', '")}'.`,
    { headers: { link: parametersSpec }, info: parametersSpec }
  )
}

function entryPoint(site: Site, request: Request): object {
  const root = `${site.origin()}/jsonapi`
  const types = resourceTypes(site).map((type) => [
    type,
    { href: `${root}/${type.replace('--', '/')}` }
  ])
  const links = [...types, ['self', { href: root }]].toSorted(([left], [right]) =>
    String(left) < String(right) ? -1 : 1
  )
  const { uuid } = request.viewer
  const me = uuid
    ? { links: { me: { meta: { id: uuid }, href: `${root}/user/user/${uuid}` } } }
    : {}
  return document({ data: [], meta: me, links: Object.fromEntries(links) })
}

/** Answers a request under /jsonapi, in the order in which Drupal's kernel lets its checks fail. */
export function answerJsonApi(
  site: Site,
  login: Login,
  route: Exclude<Route, { kind: 'page' }>,
  call: Incoming
): CmsAnswer {
  const { method, url, query, caller, headers } = call
  if (site.settings.maintenance) {
    throw new CmsError(
      503,
      `${site.name} is currently under maintenance. We should be back shortly. Thank you for your patience.`
    )
  }
  if (method === 'OPTIONS') {
    const allow =
      route.kind === 'individual'
        ? 'POST, GET, DELETE, PATCH'
        : allowedMethods(route)
            .filter((one) => one !== 'HEAD')
            .join(', ')
    return { status: 200, headers: { allow, 'content-type': 'text/html; charset=UTF-8' }, body: '' }
  }
  if (site.settings.readOnly && isWrite(method)) {
    throw new CmsError(
      405,
      'JSON:API is configured to accept only read operations. Site administrators can configure this at ' +
        `${site.origin()}/admin/config/services/jsonapi.`,
      { headers: { allow: 'GET' } }
    )
  }
  requireMethod(route, method, sortedUrl(url, query))
  if (query._format !== undefined && query._format !== 'api_json') {
    const link = `<${sortedUrl(url, { ...query, _format: 'api_json' })}>; rel="alternate"; type="${mediaType}"`
    throw new CmsError(
      406,
      `No route found for the specified format ${String(query._format)}. Supported formats: api_json.`,
      { headers: { link } }
    )
  }
  if (
    method === 'POST' ||
    method === 'PATCH' ||
    (method === 'DELETE' && route.kind === 'relationship')
  ) {
    requireContentType(headers['content-type'], mediaType)
  }
  if (query.resourceVersion !== undefined && isWrite(method)) {
    throw new CmsError(
      400,
      `${method} requests with a \`resourceVersion\` query parameter are not supported.`
    )
  }
  let isPersonal = false
  const request: Request = {
    viewer: caller.viewer,
    url,
    query,
    personal: () => {
      isPersonal = true
    }
  }
  const entity = 'uuid' in route ? site.store.byUuid(route.entityType, route.uuid) : undefined
  if ('uuid' in route && !entity) throw notConverted(route, method)
  const isCached = route.kind === 'individual' && !isWrite(method)
  const copy = isCached ? site.cache.get(caller.viewer, url, query) : undefined
  if (copy) return { status: 200, body: copy }
  try {
    checkParameters(query)
  } catch (error) {
    site.cache.widen(url)
    throw error
  }
  if (isWrite(method)) {
    login.checkCsrf(caller, headers)
    return write(site, route, request, method, call)
  }
  const body = read(site, route, request)
  if (isCached && !isPersonal) site.cache.set(caller.viewer, url, query, route.uuid, body)
  return { status: 200, body }
}

function read(site: Site, route: Exclude<Route, { kind: 'page' }>, request: Request): object {
  switch (route.kind) {
    case 'entrypoint':
      return entryPoint(site, request)
    case 'collection':
      return readCollection(site, request, route.entityType, route.bundle)
    case 'individual':
      return readIndividual(site, request, site.store.byUuid(route.entityType, route.uuid)!)
    case 'related':
      return readRelated(
        site,
        request,
        site.store.byUuid(route.entityType, route.uuid)!,
        route.field
      )
    default:
      return readRelationship(
        site,
        request,
        site.store.byUuid(route.entityType, route.uuid)!,
        route.field
      )
  }
}

function write(
  site: Site,
  route: Exclude<Route, { kind: 'page' }>,
  request: Request,
  method: string,
  { text, headers }: Pick<Incoming, 'text' | 'headers'>
): CmsAnswer {
  const { viewer, url } = request
  if (route.kind === 'collection') {
    requireCreateAccess(viewer, route.entityType, route.bundle)
    const entity = create(site, viewer, route.entityType, route.bundle, readBody(text))
    const location = `${url}/${entity.uuid}${entity.revision > 0 ? `?resourceVersion=id%3A${entity.revision}` : ''}`
    return {
      status: 201,
      headers: { location },
      body: entityDocument(site, request, route.entityType, entity, { isWritten: true })
    }
  }
  if (!('uuid' in route)) throw new CmsError(405, 'Method Not Allowed')
  const entity = site.store.byUuid(route.entityType, route.uuid)!
  if (route.kind !== 'individual') {
    requireAccess(viewer, entity, 'update')
    requireRevision(site, entity, headers)
    site.cache.forget(entity)
    const owner = changeRelationship(site, viewer, method, entity, route.field, readBody(text))
    return method === 'POST'
      ? { status: 200, body: relationshipDocument(site, request, owner, route.field) }
      : { status: 204 }
  }
  requireAccess(viewer, entity, method === 'DELETE' ? 'delete' : 'update')
  requireRevision(site, entity, headers)
  site.cache.forget(entity)
  if (method === 'DELETE') {
    site.store.remove(entity)
    return { status: 204 }
  }
  const result = update(site, viewer, entity, route.bundle, readBody(text), headers)
  return {
    status: 200,
    body: entityDocument(site, request, route.entityType, result, {
      bundle: route.bundle,
      isWritten: true
    })
  }
}
