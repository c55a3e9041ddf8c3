import type { Entity } from './store.ts'
import { valueOf } from './store.ts'

/** The user who asks: uid 0 is anonymous; an administrator may do everything. */
export interface Viewer {
  uid: number
  uuid: string | undefined
  name: string
  admin: boolean
  permissions: ReadonlySet<string>
}

export interface AccessResult {
  allowed: boolean
  reason: string
}

export type Operation = 'view' | 'update' | 'delete'

const yes: AccessResult = { allowed: true, reason: '' }

/** Whether the viewer has the permission; an administrator has them all. */
export const can = (viewer: Viewer, permission: string): boolean =>
  viewer.admin || viewer.permissions.has(permission)

function ifCan(viewer: Viewer, permission: string): AccessResult {
  return can(viewer, permission)
    ? yes
    : { allowed: false, reason: `The '${permission}' permission is required.` }
}

const refusal: AccessResult = { allowed: false, reason: '' }

const isPublished = (entity: Entity) => valueOf(entity, 'status') === true

function nodeAccess(viewer: Viewer, entity: Entity, operation: Operation): AccessResult {
  if (can(viewer, 'bypass node access')) return yes
  if (operation !== 'view') {
    const verb = operation === 'update' ? 'edit' : 'delete'
    return can(viewer, `${verb} any ${entity.bundle} content`) ? yes : refusal
  }
  if (!can(viewer, 'access content')) {
    return { allowed: false, reason: "The 'access content' permission is required." }
  }
  const own =
    viewer.uid !== 0 &&
    valueOf(entity, 'uid') === viewer.uid &&
    can(viewer, 'view own unpublished content')
  // Drupal\content_moderation\Hook\ContentModerationHooks::entityAccess()
  return isPublished(entity) || own || can(viewer, 'view any unpublished content') ? yes : refusal
}

/**
 * Whether the viewer may do that to the entity, and what Drupal says when not (the reason may be
 * empty).
 */
export function entityAccess(viewer: Viewer, entity: Entity, operation: Operation): AccessResult {
  switch (entity.entityType) {
    case 'publisher_container': {
      if (can(viewer, 'administer publisher_container')) return yes
      if (operation !== 'view') return ifCan(viewer, `${operation} publisher_container`)
      return ifCan(
        viewer,
        `view ${isPublished(entity) ? 'published' : 'unpublished'} publisher_container`
      )
    }
    case 'node':
      return nodeAccess(viewer, entity, operation)
    case 'taxonomy_term':
      if (operation !== 'view') {
        return ifCan(
          viewer,
          `${operation === 'update' ? 'edit' : 'delete'} terms in ${entity.bundle}`
        )
      }
      return ifCan(viewer, isPublished(entity) ? 'access content' : 'administer taxonomy')
    case 'file':
      return operation === 'view' ? ifCan(viewer, 'access content') : refusal
    case 'user':
      return viewer.uid === entity.id || can(viewer, 'administer users')
        ? yes
        : ifCan(viewer, 'access user profiles')
    case 'node_type':
    case 'taxonomy_vocabulary':
      return ifCan(viewer, 'access content')
    case 'publisher_container_type':
      return ifCan(viewer, 'administer publisher_container types')
    case 'field_storage_config':
    case 'field_config':
      return ifCan(viewer, `administer ${String(entity.config?.entity_type)} fields`)
    default:
      return ifCan(viewer, 'administer site configuration')
  }
}

/**
 * Whether the permissions alone do not tell if the viewer may see the entity, so that no answer
 * that includes it is kept.
 * Source: Drupal\node\NodeAccessControlHandler::checkViewAccess(),
 * Drupal\user\UserAccessControlHandler (cache context `user`).
 */
export function isPersonal(viewer: Viewer, entity: Entity): boolean {
  if (entity.entityType === 'user') return true
  const mayOwn =
    viewer.uid !== 0 &&
    !can(viewer, 'bypass node access') &&
    can(viewer, 'view own unpublished content')
  return entity.entityType === 'node' && !isPublished(entity) && mayOwn
}

/** Whether a new entity of that type and bundle may be made. */
export function createAccess(viewer: Viewer, entityType: string, bundle: string): AccessResult {
  if (entityType === 'publisher_container') {
    const allowed =
      can(viewer, 'administer publisher_container') || can(viewer, 'create publisher_container')
    return {
      allowed,
      reason: allowed
        ? ''
        : "The following permissions are required: 'administer publisher_container' OR 'create publisher_container'."
    }
  }
  if (entityType === 'node') {
    return can(viewer, 'bypass node access') ? yes : ifCan(viewer, `create ${bundle} content`)
  }
  return ifCan(viewer, `administer ${entityType}`)
}

/** Whether a field's value may be seen; a field that may not is simply absent from every answer. */
export function fieldViewAccess(
  viewer: Viewer,
  entityType: string,
  field: string,
  entity?: Entity
): AccessResult {
  if (entityType === 'publisher_container' && field === 'field_internal_note') {
    if (can(viewer, 'access publisher internal note')) return yes
    return ifCan(viewer, 'view publisher internal note')
  }
  if (entityType === 'user' && ['status', 'access', 'login', 'init', 'roles'].includes(field)) {
    return can(viewer, 'administer users') && entity?.id !== undefined ? yes : refusal
  }
  return yes
}

/** Whether a field may be set. Nobody sets `changed`, and the ids are fixed. */
export function fieldEditAccess(
  viewer: Viewer,
  entityType: string,
  field: string,
  idKey: string
): AccessResult {
  if (field === idKey) return { allowed: false, reason: 'The entity ID cannot be changed.' }
  if (field === 'changed') return refusal
  if (entityType === 'publisher_container' && field === 'field_internal_note') {
    return ifCan(viewer, 'access publisher internal note')
  }
  return yes
}
