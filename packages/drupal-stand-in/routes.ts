import { CmsError } from './errors.ts'
import { entityTypes, type Field } from './model.ts'
import { relationshipField } from './read.ts'
import { isConfiguration, resourceTypes, type Site } from './site.ts'

export type Route =
  | { kind: 'entrypoint' }
  | { kind: 'collection'; entityType: string; bundle: string }
  | { kind: 'individual'; entityType: string; bundle: string; uuid: string }
  | {
      kind: 'related' | 'relationship'
      entityType: string
      bundle: string
      uuid: string
      field: Field
    }
  | { kind: 'page'; path: string }

/**
 * Finds the route of a path; undefined where Drupal has none, which it answers with an HTML page.
 */
export function findRoute(site: Site, path: string): Route | undefined {
  const [, root, entityType = '', bundle = '', uuid, ...rest] = path.replace(/\/$/, '').split('/')
  if (root !== 'jsonapi') return { kind: 'page', path }
  if (entityType === '') return { kind: 'entrypoint' }
  if (!resourceTypes(site).includes(`${entityType}--${bundle}`)) return undefined
  if (uuid === undefined) return { kind: 'collection', entityType, bundle }
  if (rest.length === 0) return { kind: 'individual', entityType, bundle, uuid }
  const isRelationship = rest[0] === 'relationships' && rest.length === 2
  const field = relationshipField(entityType, rest.at(-1)!)
  if (!field || (!isRelationship && rest.length > 1)) return undefined
  return { kind: isRelationship ? 'relationship' : 'related', entityType, bundle, uuid, field }
}

/** The methods a route takes, in the order in which Drupal names them. */
export function allowedMethods(route: Exclude<Route, { kind: 'page' }>): string[] {
  const isFixed = route.kind === 'entrypoint' || isConfiguration(route.entityType)
  if (isFixed || route.kind === 'related') return ['GET', 'HEAD']
  switch (route.kind) {
    case 'collection':
      return entityTypes[route.entityType] ? ['GET', 'HEAD', 'POST'] : ['GET', 'HEAD']
    case 'individual':
      return ['POST', 'GET', 'HEAD', 'DELETE', 'PATCH']
    default:
      return ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']
  }
}

/** Refuses a method that the route does not take. */
export function requireMethod(
  route: Exclude<Route, { kind: 'page' }>,
  method: string,
  url: string
): void {
  const methods = allowedMethods(route)
  const isTaken = methods.includes(method) && !(route.kind === 'individual' && method === 'POST')
  if (isTaken) return
  const allow = methods.join(', ')
  throw new CmsError(
    405,
    `No route found for "${method} ${url}": Method Not Allowed (Allow: ${allow})`,
    { headers: { allow } }
  )
}

/** Refuses a write without JSON:API's media type; parameters of it are ignored. */
export function requireContentType(header: string | undefined, expectedType: string): void {
  if (header === undefined) throw new CmsError(415, 'No "Content-Type" request header specified')
  const type = header.split(';')[0]!.trim().toLowerCase()
  if (type !== expectedType) {
    throw new CmsError(415, `No route found that matches "Content-Type: ${type}"`)
  }
}

/**
 * The 404 of an entity that the path names and nobody knows, with the name of Drupal's route in it.
 */
export function notConverted(route: Extract<Route, { uuid: string }>, method: string): CmsError {
  const { entityType, bundle } = route
  const verb = method === 'GET' || method === 'HEAD' ? '' : `.${method.toLowerCase()}`
  const relation = 'field' in route ? `.${route.field.public}.${route.kind}` : '.individual'
  const tail =
    'field' in route
      ? route.kind === 'related'
        ? `/${route.field.public}`
        : `/relationships/${route.field.public}`
      : ''
  return new CmsError(
    404,
    `The "entity" parameter was not converted for the path "/jsonapi/${entityType}/${bundle}/{entity}${tail}" ` +
      `(route name: "jsonapi.${entityType}--${bundle}${relation}${verb}")`
  )
}
