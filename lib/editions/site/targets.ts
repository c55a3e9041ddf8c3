import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import { readKey } from '../../jsonapi/credentials.ts'
import { identifiers, type Document, type Resource, type ResourceIdentifier } from '../../jsonapi/document.ts'
import { isLost, type UrlOf } from '../translate/read.ts'
import { targetOf, type Target, type Targets } from '../translate/urls.ts'

/** The targets that the CMS has shown to one caller, all within a minute. */
export interface KnownTargets {
  /** When Quoin asked for the first of them, in milliseconds of the clock. */
  since: number
  targets: Map<string, Map<string, Target>>
  /** The urls of these targets; another function as soon as one of them changes. */
  urlOf: UrlOf
  /** Documents whose targets are all known. */
  documents: WeakSet<Document>
  /** Pages of lists whose targets are all known. */
  pages: Set<string>
}

/**
 * The targets of references, by caller. Quoin remembers them, since Drupal caches no answer that includes what not everybody
 * may see: users, and nodes that are not published (cache context `user`). Source: Drupal\dynamic_page_cache\EventSubscriber\
 * DynamicPageCacheSubscriber::shouldCacheResponse(), UserAccessControlHandler and NodeAccessControlHandler::checkAccess().
 */
export interface TargetMemory {
  /** The targets that a caller was shown within the last minute; none yet, where there are no such. */
  of (caller: Caller): KnownTargets
  /**
   * Takes in the targets that a document includes. A reference whose target it leaves out is hidden from the caller.
   * @param page the page of a list that the document is, if it is one
   */
  learn (known: KnownTargets, references: ResourceIdentifier[], document: Document, caller: Caller, page?: string): void
  /** How long ago Quoin asked for the oldest target that it remembers for a caller, in milliseconds. */
  age (caller: Caller): number
}

const REMEMBERED_MS = 60_000

/** How many targets Quoin remembers, those of all callers together. */
const REMEMBERED = 100_000

const HIDDEN: Target = {}

export interface TargetMemoryOptions {
  /** Makes the urls of targets; of those too that are added to the map later. */
  urlsOf: (targets: Targets) => UrlOf
  /** The name of the language's key of a resource type. */
  langcodeOf?: (resourceType: string) => string
  /** Clock, in milliseconds. */
  now?: () => number
}

export function createTargetMemory ({ urlsOf, langcodeOf = () => 'langcode', now = Date.now }: TargetMemoryOptions): TargetMemory {
  const remembered = new LRUCache<string, KnownTargets>({ maxSize: REMEMBERED, sizeCalculation: count })

  function fresh (caller: Caller): KnownTargets | undefined {
    const known = remembered.get(readKey('', caller))
    return known && now() - known.since < REMEMBERED_MS ? known : undefined
  }

  function empty (): KnownTargets {
    const targets = new Map()
    return { since: now(), targets, urlOf: urlsOf(targets), documents: new WeakSet(), pages: new Set() }
  }

  function learn (known: KnownTargets, references: ResourceIdentifier[], { included = [] }: Document, caller: Caller, page?: string): void {
    const { targets, pages } = known
    const before = count(known)
    if (page !== undefined) pages.add(page)
    const shown = new Map(included.map(({ type, id, attributes }) => [`${type} ${id}`, targetOf(attributes, langcodeOf(type))]))
    let hasChanged = false
    for (const reference of references) hasChanged = put(targets, reference, shown.get(`${reference.type} ${reference.id}`) ?? HIDDEN) || hasChanged
    if (hasChanged) Object.assign(known, { urlOf: urlsOf(targets), documents: new WeakSet() })
    if (targets.size === 0 || count(known) === before) return
    // Deleted first, so that the cache computes its size anew.
    const key = readKey('', caller)
    remembered.delete(key)
    remembered.set(key, known)
  }

  return {
    of: (caller) => fresh(caller) ?? empty(),
    learn,
    age (caller) {
      const known = fresh(caller)
      return known ? now() - known.since : 0
    }
  }
}

/** The references of resources in these relationships, except those whose entity is gone. */
export function referencesIn (resources: Resource[], names: string[]): ResourceIdentifier[] {
  const references: ResourceIdentifier[] = []
  for (const { relationships } of resources) {
    for (const name of names) {
      for (const identifier of identifiers(relationships?.[name])) if (!isLost(identifier)) references.push(identifier)
    }
  }
  return references
}

/** Those of the relationships in which resources have a target that is not known. */
export function namesWithUnknownTargets (resources: Resource[], names: ReadonlySet<string>, targets: Targets): string[] {
  const isKnown = (identifier: ResourceIdentifier) => isLost(identifier) || targets.get(identifier.type)?.has(identifier.id)
  return [...names].filter((name) => !resources.every(({ relationships }) => identifiers(relationships?.[name]).every(isKnown)))
}

/** Puts a target into its place. @returns whether another one was there */
function put (targets: KnownTargets['targets'], { type, id }: ResourceIdentifier, target: Target): boolean {
  const ofType = targets.get(type) ?? targets.set(type, new Map()).get(type)!
  const earlier = ofType.get(id)
  ofType.set(id, target)
  return earlier !== undefined && (earlier.alias !== target.alias || earlier.fileUrl !== target.fileUrl || earlier.langcode !== target.langcode)
}

function count ({ targets, pages }: KnownTargets): number {
  let sum = pages.size
  for (const ofType of targets.values()) sum += ofType.size
  return sum
}
