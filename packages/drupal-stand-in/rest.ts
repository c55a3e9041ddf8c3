import { entityAccess } from './access.ts'
import { CmsError } from './errors.ts'
import type { CmsAnswer, Incoming } from './jsonapi.ts'
import type { Login } from './login.ts'
import { entityTypes } from './model.ts'
import { canonicalUrl, restEntity } from './rest-items.ts'
import { restCreate, restUpdate } from './rest-write.ts'
import { requireContentType } from './routes.ts'
import type { Site } from './site.ts'
import type { Entity } from './store.ts'

const page = { 'content-type': 'text/html; charset=UTF-8' }

const html = (title: string) =>
  `<!DOCTYPE html>\n<html lang="en" dir="ltr">\n  <head><title>${title}</title></head>\n  <body><h1>${title}</h1></body>\n</html>\n`

const relation = 'https://drupal.org/link-relations/'

/** The Link header that core adds: one entry for every link template of the entity type. */
function linkHeader(site: Site, entity: Entity): string {
  const root = site.origin()
  const canonical = root + canonicalUrl(site, entity)
  const links: [href: string, rel: string][] = [[canonical, 'canonical']]
  if (entity.entityType === 'node') {
    const own = `${root}/node/${entity.id}`
    links.push(
      [`${own}/delete`, `${relation}delete-form`],
      [`${root}/admin/content/node/delete?node=${entity.id}`, `${relation}delete-multiple-form`],
      [`${own}/edit`, 'edit-form'],
      [`${own}/revisions`, 'version-history'],
      [canonical, `${relation}revision`],
      [`${root}/node?node=${entity.id}`, `${relation}create`]
    )
  }
  if (entity.entityType === 'taxonomy_term') {
    links.push(
      [`${canonical}/delete`, `${relation}delete-form`],
      [`${canonical}/edit`, 'edit-form'],
      [`${root}/taxonomy/term?taxonomy_term=${entity.id}`, `${relation}create`]
    )
  }
  if (entity.entityType === 'user') {
    links.push(
      [`${canonical}/edit`, 'edit-form'],
      [`${canonical}/cancel`, `${relation}cancel-form`],
      [`${root}/admin/people`, 'collection']
    )
  }
  return links.map(([href, rel]) => `<${href}>; rel="${rel}"`).join(', ')
}

interface RestTarget {
  entityType: string
  id: string | undefined
}

function targetOf(path: string): RestTarget | undefined {
  const [, type, first, second] = path.split('/')
  if (type === 'entity' && first === 'publisher_container' && second === undefined) {
    return { entityType: first, id: undefined }
  }
  if (type === 'taxonomy' && first === 'term') return { entityType: 'taxonomy_term', id: second }
  if (
    (type === 'publisher_container' || type === 'node' || type === 'user') &&
    first &&
    second === undefined
  ) {
    return { entityType: type, id: first }
  }
  return undefined
}

/**
 * Refuses a format that no REST route has; with Basic credentials the page's route refuses those
 * instead.
 */
function requireFormat({ query, headers, method }: Incoming): CmsAnswer | undefined {
  const format = query._format
  if (format === 'json' || (format === undefined && method !== 'GET')) return undefined
  const isBasic = headers.authorization !== undefined
  if (format === undefined) {
    return {
      status: isBasic ? 403 : 200,
      headers: page,
      body: html(isBasic ? 'Access denied' : 'Page')
    }
  }
  if (!isBasic) {
    throw new CmsError(
      406,
      `No route found for the specified format ${String(format)}. Supported formats: json.`
    )
  }
  const message = 'The used authentication method is not allowed on this route.'
  return format === 'xml'
    ? {
        status: 403,
        headers: { 'content-type': 'text/xml; charset=UTF-8' },
        body: `<?xml version="1.0"?>\n<response><message>${message}</message></response>\n`
      }
    : { status: 403, headers: { 'content-type': 'text/plain; charset=UTF-8' }, body: message }
}

const notConverted = (entityType: string, method: string, path: string) =>
  new CmsError(
    404,
    `The "${entityType}" parameter was not converted for the path "${path}/{${entityType}}" (route name: "rest.entity.${entityType}.${method === 'HEAD' ? 'GET' : method}")`
  )

/**
 * Answers core REST in json: editions may be read, made, changed and deleted, articles, terms and
 * users read. Undefined where the path is none of these.
 */
export function answerRest(
  site: Site,
  login: Login,
  path: string,
  request: Incoming
): CmsAnswer | undefined {
  const {
    method,
    caller: { viewer },
    headers,
    url
  } = request
  const target = targetOf(path)
  if (!target) return undefined
  if (site.settings.maintenance) {
    return {
      status: 302,
      headers: { location: '/', 'content-type': 'application/json' },
      body: html('Redirecting to /')
    }
  }
  const methods = target.id === undefined ? ['POST'] : ['GET', 'POST', 'HEAD', 'DELETE', 'PATCH']
  if (method === 'OPTIONS') {
    return {
      status: 200,
      headers: {
        allow: methods.filter((one) => one !== 'HEAD').join(', '),
        'content-type': 'application/json'
      },
      body: ''
    }
  }
  if (!methods.includes(method) || (method === 'POST' && target.id !== undefined)) {
    const allow = methods.join(', ')
    throw new CmsError(
      405,
      `No route found for "${method} ${url}": Method Not Allowed (Allow: ${allow})`,
      { headers: { allow } }
    )
  }
  const other = requireFormat(request)
  if (other) return other
  if (method === 'POST' || method === 'PATCH') {
    requireContentType(headers['content-type'], 'application/json')
  }
  const id = /^\d+$/.test(target.id ?? '') ? Number(target.id) : undefined
  const entity = id === undefined ? undefined : site.store.byId(target.entityType, id)
  if (target.id !== undefined && !entity) {
    throw notConverted(target.entityType, method, path.slice(0, path.lastIndexOf('/')))
  }
  if (method === 'POST' || method === 'PATCH' || method === 'DELETE') {
    login.checkCsrf(request.caller, headers)
  }
  if (!entity) {
    const saved = restCreate(site, viewer, request.text)
    return {
      status: 201,
      headers: { location: site.origin() + canonicalUrl(site, saved) },
      body: restEntity(site, viewer, saved)
    }
  }
  const operation = method === 'PATCH' ? 'update' : method === 'DELETE' ? 'delete' : 'view'
  const access = entityAccess(viewer, entity, operation)
  if (!access.allowed) throw new CmsError(403, access.reason)
  if (operation === 'view') {
    return {
      status: 200,
      headers: { link: linkHeader(site, entity) },
      body: restEntity(site, viewer, entity)
    }
  }
  if (!entityTypes[target.entityType] || target.entityType !== 'publisher_container') {
    throw new CmsError(405, 'Method Not Allowed')
  }
  site.cache.forget(entity)
  if (operation === 'delete') {
    site.store.remove(entity)
    return { status: 204 }
  }
  return {
    status: 200,
    body: restEntity(site, viewer, restUpdate(site, viewer, entity, request.text))
  }
}
