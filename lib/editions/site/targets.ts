import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import { readKey } from '../../jsonapi/credentials.ts'
import { identifiers, isObject, type Document, type Resource, type ResourceIdentifier } from '../../jsonapi/document.ts'
import { isLost, type UrlOf } from '../translate/read.ts'

/** What the url of a reference is made from: its target's path alias, or the URL of its file; neither where the caller may not see it. */
export interface Target {
  alias?: string
  fileUrl?: string
}

/** Targets by their type and uuid: uuids are unique, but nothing in JSON:API says so of two types. */
export type Targets = ReadonlyMap<string, ReadonlyMap<string, Target>>

/** What one caller was told of targets, all within a minute. */
export interface KnownTargets {
  /** When the first of it was asked for, in milliseconds of the clock. */
  since: number
  targets: Map<string, Map<string, Target>>
  /** The urls of these; another function once one of them is another. */
  urlOf: UrlOf
  /** Documents that nothing more can be learned from: all that they tell is what is known. */
  learned: WeakSet<Document>
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
  of (caller: Caller): KnownTargets
  /**
   * Takes what a document includes; those of the references whose targets it leaves out the caller may not see.
   * @param page the page of a list that the document is
   */
  learn (told: KnownTargets, references: ResourceIdentifier[], document: Document, caller: Caller, page?: string): void
  /** How long ago the oldest was asked for of what is remembered for a caller, in milliseconds. */
  age (caller: Caller): number
}

const REMEMBERED_MS = 60_000

/** How many targets are remembered, those of all callers together. */
const REMEMBERED = 100_000

const HIDDEN: Target = {}

/** @param urlsOf makes the urls of targets, be they put there before or after */
export function createTargetMemory (urlsOf: (targets: Targets) => UrlOf, now: () => number = Date.now): TargetMemory {
  const remembered = new LRUCache<string, KnownTargets>({ maxSize: REMEMBERED, sizeCalculation: count })
  const keyOf = (caller: Caller) => readKey('', caller)

  function fresh (caller: Caller): KnownTargets | undefined {
    const told = remembered.get(keyOf(caller))
    return told && now() - told.since < REMEMBERED_MS ? told : undefined
  }

  function empty (): KnownTargets {
    const targets = new Map()
    return { since: now(), targets, urlOf: urlsOf(targets), learned: new WeakSet(), pages: new Set() }
  }

  function learn (told: KnownTargets, references: ResourceIdentifier[], { included = [] }: Document, caller: Caller, page?: string): void {
    const { targets, pages } = told
    const before = count(told)
    if (page !== undefined) pages.add(page)
    const shown = new Map(included.map(({ type, id, attributes }) => [`${type} ${id}`, targetOf(attributes)]))
    let isOther = false
    for (const reference of references) isOther = put(targets, reference, shown.get(`${reference.type} ${reference.id}`) ?? HIDDEN) || isOther
    if (isOther) Object.assign(told, { urlOf: urlsOf(targets), learned: new WeakSet() })
    if (targets.size === 0 || count(told) === before) return
    // Taken out first, for its size to be counted anew.
    remembered.delete(keyOf(caller))
    remembered.set(keyOf(caller), told)
  }

  return {
    of: (caller) => fresh(caller) ?? empty(),
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

/** The relationships, of these, in which resources refer to what nothing was told of. */
export function namesWithUnknownTargets (found: Resource[], names: ReadonlySet<string>, targets: Targets): string[] {
  const isTold = (identifier: ResourceIdentifier) => isLost(identifier) || targets.get(identifier.type)?.has(identifier.id)
  return [...names].filter((name) => !found.every(({ relationships }) => identifiers(relationships?.[name]).every(isTold)))
}

/** What the attributes of an included resource tell of its url. */
export function targetOf ({ path, uri }: Record<string, unknown> = {}): Target {
  return {
    ...(isObject(path) && typeof path.alias === 'string' && { alias: encoded(path.alias) }),
    ...(isObject(uri) && typeof uri.url === 'string' && { fileUrl: uri.url })
  }
}

/**
 * An alias as it is in a URL: each part percent-encoded (RFC 3986, as PHP's rawurlencode() has it), and no part for a step of
 * the path. Source: Drupal\Core\Routing\UrlGenerator::generateFromRoute().
 */
function encoded (alias: string): string {
  if (PLAIN.test(alias)) return alias
  return alias.split('/').map((part) => /^\.\.?$/.test(part)
    ? part.replaceAll('.', '%2E')
    : encodeURIComponent(part.toWellFormed()).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)).join('/')
}

/** An alias in which there is nothing to encode, as nearly all are. */
const PLAIN = /^(?:\/(?!\.)[\w.~-]+)+$/

/** Whether another target was known in its place. */
function put (targets: KnownTargets['targets'], { type, id }: ResourceIdentifier, target: Target): boolean {
  const ofType = targets.get(type) ?? targets.set(type, new Map()).get(type)!
  const known = ofType.get(id)
  ofType.set(id, target)
  return known !== undefined && (known.alias !== target.alias || known.fileUrl !== target.fileUrl)
}

function count ({ targets, pages }: KnownTargets): number {
  let sum = pages.size
  for (const ofType of targets.values()) sum += ofType.size
  return sum
}
