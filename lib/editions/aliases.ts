import { LRUCache } from 'lru-cache'
import { readKey, type Caller } from '../jsonapi/credentials.ts'
import { identifiers, isObject, type Document, type Resource } from '../jsonapi/document.ts'
import { splitType, type ContentModel } from './model.ts'

/** Drupal's entity type of users. */
export const USER = 'user'

/** Path aliases of users by uuid; null where there is none, or none that the caller may see. */
export type Aliases = ReadonlyMap<string, string | null>

/**
 * What callers were told of users' path aliases. They are remembered, unlike those of other references: to a request that
 * includes users Drupal keeps no answer, since access to users depends on who asks (cache context `user`), and would make
 * every answer anew. Source: Drupal\user\UserAccessControlHandler::checkAccess().
 */
export interface UserAliases {
  /** What was told within the last minute; undefined where nothing was. */
  of (caller: Caller): Aliases | undefined
  /**
   * Takes the aliases from an answer that includes the users that its resources refer to.
   * @param asked when it was asked for, in milliseconds of the clock
   */
  learn (caller: Caller, found: Resource[], document: Document, asked: number): Aliases
  /** How long ago the oldest was asked for of what is remembered for a caller, in milliseconds. */
  age (caller: Caller): number
  now (): number
}

const REMEMBERED_MS = 60_000

/** For how many callers they are remembered. */
const CALLERS = 1000

export function createUserAliases (model: ContentModel, now: () => number = Date.now): UserAliases {
  const remembered = new LRUCache<string, { at: number, aliases: Map<string, string | null> }>({ max: CALLERS })
  const keyOf = (caller: Caller) => readKey(USER, caller)

  function fresh (caller: Caller) {
    const known = remembered.get(keyOf(caller))
    return known && now() - known.at < REMEMBERED_MS ? known : undefined
  }

  function learn (caller: Caller, found: Resource[], { included = [] }: Document, asked: number): Aliases {
    const paths = new Map(included.map(({ id, attributes }) => [id, attributes?.path]))
    const learned = usersIn(found, model).map((id): [string, string | null] => {
      const path = paths.get(id)
      return [id, isObject(path) && typeof path.alias === 'string' ? path.alias : null]
    })
    const known = fresh(caller) ?? { at: asked, aliases: new Map<string, string | null>() }
    for (const [id, alias] of learned) known.aliases.set(id, alias)
    if (learned.length > 0) remembered.set(keyOf(caller), known)
    return new Map(learned)
  }

  return {
    of: (caller) => fresh(caller)?.aliases,
    learn,
    age (caller) {
      const known = fresh(caller)
      return known ? now() - known.at : 0
    },
    now
  }
}

/** The uuids of the users that resources refer to, each as often as it is referred to. */
export function usersIn (found: Resource[], model: ContentModel): string[] {
  const users: string[] = []
  for (const { relationships = {} } of found) {
    for (const name in relationships) {
      for (const { type, id } of identifiers(relationships[name])) if (splitType(model, type).entityType === USER) users.push(id)
    }
  }
  return users
}
