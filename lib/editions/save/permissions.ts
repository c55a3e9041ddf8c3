import { LRUCache } from 'lru-cache'
import { readKey } from '../../drupal/credentials.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import { systemTime, type Time } from '../../time.ts'
import type { Resources } from '../lookup/resources.ts'
import { refusal } from '../translate/failures.ts'

/**
 * Who may change an edition, as Drupal says. A save that sends Drupal a change is told by the
 * answer to that. Whatever else is answered to a save asks here first, since who may read an
 * edition may not change it for that.
 */
export interface Permissions {
  /**
   * Resolves where the caller may change an edition. Asks Drupal, unless it has let the caller do
   * so within a minute.
   * @throws {Failure} Drupal's refusal; CMS_READ_ONLY where JSON:API takes no writes
   */
  demand(resource: Resource, caller: Caller): Promise<void>
  /** Takes in that Drupal has let the caller change an edition, or has refused it. */
  learn(uuid: string, caller: Caller, isAllowed: boolean): void
}

/** How long a permission is remembered, in milliseconds, and how many are. */
const REMEMBERED_MS = 60_000
const REMEMBERED = 5000

interface PermissionContext {
  resources: Pick<Resources, 'refusalToEdit'>
  time: Time
  /** Until when a permission holds. */
  permissions: LRUCache<string, number>
}

export function createPermissions(
  resources: PermissionContext['resources'],
  time: Time = systemTime
): Permissions {
  const permissions = new LRUCache<string, number>({ max: REMEMBERED })
  const context: PermissionContext = { resources, time, permissions }
  return {
    demand: (resource, caller) => demandEdit(context, resource, caller),
    learn: (uuid, caller, isAllowed) => learnPermission(context, uuid, caller, isAllowed)
  }
}

async function demandEdit(
  context: PermissionContext,
  resource: Resource,
  caller: Caller
): Promise<void> {
  const { permissions, resources, time } = context
  const until = permissions.get(permissionKey(resource.id, caller)) ?? -Infinity
  if (until > time.monotonic()) return
  const refused = await resources.refusalToEdit(resource, caller)
  learnPermission(context, resource.id, caller, refused === undefined)
  if (refused) throw refusal(refused)
}

function learnPermission(
  { permissions, time }: PermissionContext,
  uuid: string,
  caller: Caller,
  isAllowed: boolean
): void {
  const key = permissionKey(uuid, caller)
  if (isAllowed) permissions.set(key, time.monotonic() + REMEMBERED_MS)
  else permissions.delete(key)
}

function permissionKey(uuid: string, caller: Caller): string {
  return `${readKey('', caller)}\n${uuid.toLowerCase()}`
}
