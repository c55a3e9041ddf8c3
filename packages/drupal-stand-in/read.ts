import { can, entityAccess, type Viewer } from './access.ts'
import { document, omittedMeta, type OmittedEntity } from './document.ts'
import { CmsError } from './errors.ts'
import { parseFilter } from './filter.ts'
import { includedEntities } from './include.ts'
import { entityTypes, type Field } from './model.ts'
import { pageLinks, parsePage } from './page.ts'
import { sortedUrl, type PhpQuery } from './query.ts'
import { fieldItems, isLabelOnly, relationshipData, resource, versionQuery } from './resource.ts'
import { isRevisionable, resourceUrl, type Site } from './site.ts'
import { parseSort } from './sort.ts'
import type { Entity } from './store.ts'

/** A request as the readers need it: who asks, at which address, with which parameters. */
export interface Request {
  viewer: Viewer
  url: string
  query: PhpQuery
  /** Called if the answer is for this viewer only. */
  personal: () => void
}

const unreadable = 'The current user is not allowed to GET the selected resource.'

const selfLink = ({ url, query }: Request) => ({ self: { href: sortedUrl(url, query) } })

function sparseFields(query: PhpQuery): Map<string, Set<string>> {
  const { fields } = query
  if (typeof fields === 'string') {
    throw new CmsError(
      400,
      'Unexpected value for parameter "fields": expecting "array", got "string".'
    )
  }
  return new Map(
    Object.entries(fields ?? {}).map(([type, names]) => [type, new Set(String(names).split(','))])
  )
}

/**
 * Checks `resourceVersion` and names the revision it asks for; undefined for the one that counts
 * anyway.
 */
function versionOf(
  request: Request,
  entityType: string,
  isCollection: boolean
): number | undefined {
  const version = request.query.resourceVersion
  if (version === undefined) return undefined
  if (!isRevisionable(entityType)) {
    throw new CmsError(501, 'Resource versioning is not yet supported for this resource type.')
  }
  const [, kind, value = ''] = /^([^:]+):(.+)$/.exec(String(version)) ?? []
  if (kind === undefined) {
    throw new CmsError(
      400,
      `A resource version identifier was provided in an invalid format: \`${String(version)}\``
    )
  }
  const isNamed = kind === 'rel' && (value === 'latest-version' || value === 'working-copy')
  if (isCollection && !isNamed) {
    throw new CmsError(
      400,
      'Collection resources only support the following resource version identifiers: rel:latest-version, rel:working-copy'
    )
  }
  if (isNamed) return undefined
  if (kind !== 'id') {
    throw new CmsError(
      400,
      `An invalid resource version identifier, \`${String(version)}\`, was provided.`
    )
  }
  return Number(value)
}

/** The revision that a request is shown which names none. */
function shownRevision(site: Site, entity: Entity): Entity {
  const late = site.cache.late(entity.uuid)
  return late === undefined ? entity : site.store.revision(entity.entityType, late)!
}

/** The revision of the entity that the request asks for. An old revision needs extra access. */
export function requestedRevision(site: Site, request: Request, entity: Entity): Entity {
  const number = versionOf(request, entity.entityType, false)
  if (number === undefined) return shownRevision(site, entity)
  if (number === entity.revision) return entity
  const revision = site.store.revision(entity.entityType, number)
  if (revision?.uuid !== entity.uuid) {
    throw new CmsError(
      404,
      `The requested version, identified by \`id:${String(request.query.resourceVersion).slice(3)}\`, could not be found.`
    )
  }
  const permission = `view ${entity.entityType} revisions`
  if (!can(request.viewer, permission)) {
    const reason = `The user does not have access to the requested version. The '${permission}' permission is required.`
    throw new CmsError(403, `${unreadable} ${reason}`, { pointer: '/data' })
  }
  return revision
}

/** Throws 403 unless the entity, or at least its label, may be seen. */
function requireView(viewer: Viewer, entity: Entity): void {
  const access = entityAccess(viewer, entity, 'view')
  if (access.allowed || isLabelOnly(viewer, entity)) return
  throw new CmsError(403, `${unreadable} ${access.reason}`.trim(), { pointer: '/data' })
}

/**
 * The document of these entities: one as an object, many as a list, with includes and what was
 * omitted.
 */
export function entityDocument(
  site: Site,
  request: Request,
  entityType: string,
  data: Entity | Entity[] | null,
  extra: {
    omitted?: OmittedEntity[]
    links?: Record<string, { href: string }>
    meta?: Record<string, unknown>
    bundle?: string
    isWritten?: boolean
  } = {}
): object {
  const { viewer, query, personal } = request
  const fields = sparseFields(query)
  const omissions = [...(extra.omitted ?? [])]
  const primary = data === null ? [] : Array.isArray(data) ? data : [data]
  const inclusions = includedEntities(
    site,
    viewer,
    entityType,
    primary,
    String(query.include ?? ''),
    omissions,
    personal
  )
  const { isWritten = false } = extra
  const own = (entity: Entity) =>
    resource(site, entity, {
      viewer,
      fields,
      isWritten,
      ...(extra.bundle ? { bundle: extra.bundle } : {})
    })
  return document({
    data: data === null ? null : Array.isArray(data) ? data.map(own) : own(data),
    meta: { ...extra.meta, ...omittedMeta(omissions) },
    links: { ...extra.links, ...selfLink(request) },
    included: inclusions.map((entity) => resource(site, entity, { viewer, fields, isWritten }))
  })
}

/** GET of one resource. */
export function readIndividual(site: Site, request: Request, entity: Entity): object {
  const revision = requestedRevision(site, request, entity)
  requireView(request.viewer, revision)
  return entityDocument(site, request, entity.entityType, revision)
}

const omission = (site: Site, viewer: Viewer, entity: Entity): OmittedEntity => ({
  href: resourceUrl(site, entity),
  detail: `${unreadable} ${entityAccess(viewer, entity, 'view').reason}`.trim()
})

const isVisible = (viewer: Viewer, entity: Entity) =>
  entityAccess(viewer, entity, 'view').allowed || isLabelOnly(viewer, entity)

/**
 * GET of a collection: one bundle, filtered and sorted; the window is cut before access is looked
 * at.
 */
export function readCollection(
  site: Site,
  request: Request,
  entityType: string,
  bundle: string
): object {
  const { viewer, query, url } = request
  versionOf(request, entityType, true)
  const page = parsePage(query.page)
  const passes = parseFilter(site, viewer, entityType, bundle, query.filter)
  const rows = site.store
    .all(entityType, bundle)
    .filter(passes)
    .sort(parseSort(site, viewer, entityType, query.sort))
  const start = Math.max(0, page.offset)
  const window = rows.slice(start, start + page.limit)
  const count = site.settings.includeCount ? rows.length : undefined
  return entityDocument(
    site,
    request,
    entityType,
    window
      .filter((entity) => isVisible(viewer, entity))
      .map((entity) => shownRevision(site, entity)),
    {
      omitted: window
        .filter((entity) => !isVisible(viewer, entity))
        .map((entity) => omission(site, viewer, entity)),
      links: pageLinks(url, query, page, rows.length > start + page.limit, count),
      ...(count === undefined ? {} : { meta: { count } })
    }
  )
}

/** GET of a relationship's targets as resources. */
export function readRelated(site: Site, request: Request, entity: Entity, field: Field): object {
  requireView(request.viewer, entity)
  const targets = fieldItems(entity, field)
    .map((item) => site.store.byId(field.target!, item.target_id as number | string))
    .filter((target) => target !== undefined)
  const visible = targets.filter((target) => isVisible(request.viewer, target))
  const omitted = targets
    .filter((target) => !isVisible(request.viewer, target))
    .map((target) => omission(site, request.viewer, target))
  return entityDocument(site, request, field.target!, field.many ? visible : (visible[0] ?? null), {
    omitted
  })
}

/** GET of a relationship itself: identifiers only. */
export function readRelationship(
  site: Site,
  request: Request,
  entity: Entity,
  field: Field
): object {
  requireView(request.viewer, entity)
  return relationshipDocument(site, request, entity, field)
}

/** The identifiers of a relationship with its two links. */
export function relationshipDocument(
  site: Site,
  request: Request,
  entity: Entity,
  field: Field
): object {
  const related = { href: `${resourceUrl(site, entity)}/${field.public}${versionQuery(entity)}` }
  const items = { ...entity, fields: { ...entity.fields, [field.name]: fieldItems(entity, field) } }
  return document({
    data: relationshipData(site, items, field),
    links: { related, ...selfLink(request) }
  })
}

/** The fields of the type that are relationships by that public name. */
export const relationshipField = (entityType: string, name: string): Field | undefined =>
  entityTypes[entityType]?.fields.find(
    (field) => field.public === name && field.target !== undefined
  )
