import type { IncomingHttpHeaders } from 'node:http'
import { CmsError } from './errors.ts'
import { findRoute } from './routes.ts'
import { isRevisionable, type Site } from './site.ts'
import type { Entity } from './store.ts'

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

/** Notes that an entity was saved without a new revision. */
export function noteInPlace(site: Site, entity: Entity): void {
  site.savedInPlace.add(nameOf(entity))
}

function nameOf({ entityType, uuid, revision }: Entity): string {
  return `${entityType} ${uuid} ${revision}`
}
