import type { IncomingHttpHeaders } from 'node:http'
import { CmsError } from './errors.ts'
import { entityTypes } from './model.ts'
import { findRoute } from './routes.ts'
import { isRevisionable, type Site } from './site.ts'
import type { Entity, Item } from './store.ts'

/** What Quoin's module adds to each answer of JSON:API. */
export function moduleHeaders(site: Site, path: string): Record<string, string> {
  const { module } = site.settings
  const route = findRoute(site, path)
  if (module === undefined || !route || route.kind === 'page') return {}
  return { 'quoin-module': module }
}

/**
 * Refuses a write of an entity that names another revision than the latest one, as the module does.
 */
export function requireRevision(site: Site, entity: Entity, headers: IncomingHttpHeaders): void {
  const named = headers['quoin-revision']
  if (site.settings.module === undefined || named === undefined) return
  if (!/^[1-9]\d{0,17}$/.test(String(named))) {
    throw new CmsError(400, 'Quoin-Revision has to be the id of a revision.')
  }
  if (!isRevisionable(entity.entityType)) {
    throw new CmsError(400, 'Quoin-Revision is for entities with revisions in a database.')
  }
  if (Number(named) !== entity.revision) {
    throw new CmsError(412, `Revision ${named} is not the latest one.`)
  }
  if (site.savedInPlace.has(nameOf(entity))) {
    throw new CmsError(412, `Revision ${named} was saved again since it was made.`, { code: '1' })
  }
}

/**
 * Puts references to what is gone back into the lists that a document changes, as the module does
 * after validation: those alone that are stored, and whose targets are gone.
 * @param changedFields the fields that the document changes
 */
export function keepReferences(
  site: Site,
  before: Entity,
  after: Entity,
  changedFields: ReadonlySet<string>,
  headers: IncomingHttpHeaders
): Entity {
  const header = headers['quoin-keep-references']
  if (site.settings.module === undefined || header === undefined) return after
  const fields = { ...after.fields }
  const positions = JSON.parse(String(header)) as Record<string, Array<[number, number]>>
  for (const [name, pairs] of Object.entries(positions)) {
    const field = entityTypes[before.entityType]!.fields.find((one) => one.public === name)
    if (!field || !changedFields.has(field.name)) {
      throw new CmsError(
        400,
        `Quoin-Keep-References names ${name}, which the document does not change.`
      )
    }
    const items: Item[] = [...fields[field.name]!]
    for (const [to, from] of pairs.toSorted(([one], [other]) => one - other)) {
      const item = before.fields[field.name]?.[from]
      const isGone = item && !site.store.byId(field.target!, item.target_id as number)
      if (!isGone || to > items.length) {
        const what = `${field.name} has no reference at ${from} to what is gone, or no place ${to}.`
        throw new CmsError(412, what)
      }
      items.splice(to, 0, item)
    }
    fields[field.name] = items
  }
  return { ...after, fields }
}

/** Notes that an entity was saved without a new revision. */
export function noteInPlace(site: Site, entity: Entity): void {
  site.savedInPlace.add(nameOf(entity))
}

function nameOf({ entityType, uuid, revision }: Entity): string {
  return `${entityType} ${uuid} ${revision}`
}
