import { LRUCache } from 'lru-cache'
import { readKey, type Caller } from '../jsonapi/credentials.ts'
import { identifiers, type Document, type Resource, type ResourceIdentifier } from '../jsonapi/document.ts'
import { isLost } from './read.ts'

/** The attributes of a reference's target that its url is made from; none where the caller may not see it. */
export interface Target {
  path?: unknown
  uri?: unknown
}

/** Targets by their type and uuid: uuids are unique, but nothing in JSON:API says so of two types. */
export type Targets = ReadonlyMap<string, ReadonlyMap<string, Target>>

/** What one caller was told of targets, all within a minute. */
export interface Told {
  /** When the first of it was asked for, in milliseconds of the clock. */
  since: number
  targets: Map<string, Map<string, Target>>
  /** The pages of lists whose targets were all told. */
  pages: Set<string>
}

/**
 * What callers were told of the targets of references. It is remembered, since including what not everybody may see makes
 * Drupal put every answer together anew: of users, and of nodes that are not published, access depends on who asks (cache
 * context `user`), and such an answer is not kept. Source: Drupal\dynamic_page_cache\EventSubscriber\
 * DynamicPageCacheSubscriber::shouldCacheResponse(), UserAccessControlHandler and NodeAccessControlHandler::checkAccess().
 */
export interface TargetMemory {
  /** What a caller was told within the last minute, or else room for what he will be. */
  toldTo (caller: Caller): Told
  /**
   * Takes what a document includes; those of the references whose targets it leaves out the caller may not see.
   * @param page the page of a list that the document is
   */
  learn (told: Told, references: ResourceIdentifier[], document: Document, caller: Caller, page?: string): void
  /** How long ago the oldest was asked for of what is remembered for a caller, in milliseconds. */
  age (caller: Caller): number
}

const REMEMBERED_MS = 60_000

/** How many targets are remembered, those of all callers together. */
const REMEMBERED = 100_000

const HIDDEN: Target = {}

export function createTargetMemory (now: () => number = Date.now): TargetMemory {
  const remembered = new LRUCache<string, Told>({ maxSize: REMEMBERED, sizeCalculation: count })
  const keyOf = (caller: Caller) => readKey('', caller)

  function fresh (caller: Caller): Told | undefined {
    const told = remembered.get(keyOf(caller))
    return told && now() - told.since < REMEMBERED_MS ? told : undefined
  }

  function learn (told: Told, references: ResourceIdentifier[], { included = [] }: Document, caller: Caller, page?: string): void {
    const { targets, pages } = told
    const before = count(told)
    if (page !== undefined) pages.add(page)
    for (const reference of references) put(targets, reference, HIDDEN)
    for (const target of included) {
      const { path, uri } = target.attributes ?? {}
      if (path || uri) put(targets, target, { path, uri })
    }
    // As a new object, for its size to be counted anew.
    if (targets.size > 0 && count(told) > before) remembered.set(keyOf(caller), { ...told })
  }

  return {
    toldTo: (caller) => fresh(caller) ?? { since: now(), targets: new Map(), pages: new Set() },
    learn,
    age (caller) {
      const told = fresh(caller)
      return told ? now() - told.since : 0
    }
  }
}

/** What resources refer to in these relationships, as far as there is such an entity. */
export function referencesIn (found: Resource[], names: string[]): ResourceIdentifier[] {
  const references: ResourceIdentifier[] = []
  for (const { relationships } of found) {
    for (const name of names) {
      for (const identifier of identifiers(relationships?.[name])) if (!isLost(identifier)) references.push(identifier)
    }
  }
  return references
}

function put (targets: Told['targets'], { type, id }: ResourceIdentifier, target: Target): void {
  const ofType = targets.get(type) ?? targets.set(type, new Map()).get(type)!
  ofType.set(id, target)
}

function count ({ targets, pages }: Told): number {
  let sum = pages.size
  for (const ofType of targets.values()) sum += ofType.size
  return sum
}
