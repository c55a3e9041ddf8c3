import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import { fingerprint, readKey } from '../../drupal/credentials.ts'
import {
  identifiers,
  type Document,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { isLost, type UrlOf } from '../translate/read.ts'
import {
  LANGUAGE_KEYS,
  targetOf,
  type LanguageKeys,
  type Target,
  type Targets
} from '../translate/urls.ts'
import { systemTime, type Time } from '../../time.ts'

/** The targets that the CMS has shown to one caller, all within a minute. */
export interface KnownTargets {
  /** When Quoin asked for the first of them, in milliseconds of the clock. */
  since: number
  targets: Map<string, Map<string, Target>>
  /** What the targets count (`weightOf`). */
  weight: number
  /** The urls of these targets; another function as soon as one of them changes. */
  urlOf: UrlOf
  /** Documents whose targets are all known. */
  documents: WeakSet<Document>
  /** Resources whose targets are all known. */
  resources: WeakSet<Resource>
  /** Pages of lists whose targets are all known. */
  pages: Set<string>
}

/**
 * The targets of references, by caller. Quoin remembers them, since Drupal caches no answer that
 * includes what not everybody may see: users, and nodes that are not published (cache context
 * `user`). Source: Drupal\dynamic_page_cache\EventSubscriber\
 * DynamicPageCacheSubscriber::shouldCacheResponse(), UserAccessControlHandler and
 * NodeAccessControlHandler::checkAccess().
 */
export interface TargetMemory {
  /** The targets that a caller was shown within the last minute; empty if there are none. */
  of(caller: Caller): KnownTargets
  /**
   * Takes in the targets that a document includes. A reference whose target it leaves out is hidden
   * from the caller.
   * @param page the page of a list that the document is, if it is one
   */
  learn(
    known: KnownTargets,
    references: ResourceIdentifier[],
    document: Document,
    caller: Caller,
    page?: string
  ): void
  /** Takes in those of the translated targets whose originals a document includes. */
  learnOriginals(known: KnownTargets, translated: ResourceIdentifier[], document: Document): void
  /**
   * Takes translated targets for originals, since their originals were looked for and not found.
   */
  settle(known: KnownTargets, translated: ResourceIdentifier[]): void
  /**
   * Forgets what a caller was shown of an entity with this id, or, without one, all; whatever the
   * language.
   */
  refuse(caller: Caller, id?: string): void
  /** Forgets, for all callers, what was shown of an entity. */
  outdate(id: string): void
  /**
   * How long ago Quoin asked for the oldest target that it remembers for a caller, in milliseconds.
   */
  age(caller: Caller): number
}

const REMEMBERED_MS = 60_000

/**
 * How many targets Quoin remembers, those of all callers together. Of long urls each 256 characters
 * count as one more.
 */
const REMEMBERED = 100_000

const HIDDEN: Target = {}

export interface TargetMemoryOptions {
  /** Makes the urls of targets, also of targets that are added to the map later. */
  urlsOf: (targets: Targets) => UrlOf
  languageKeysOf?: (resourceType: string) => LanguageKeys
  time?: Time
}

export interface TargetContext {
  urlsOf: (targets: Targets) => UrlOf
  languageKeysOf: (resourceType: string) => LanguageKeys
  time: Time
  memories: LRUCache<string, KnownTargets>
  /** The keys of each caller's memories: one for each language. */
  keysOf: Map<string, Set<string>>
  /** The memories that were given up while a request may still be learning them. */
  refused: WeakSet<KnownTargets>
}

export function createTargetMemory({
  urlsOf,
  languageKeysOf = () => LANGUAGE_KEYS,
  time = systemTime
}: TargetMemoryOptions): TargetMemory {
  const keysOf = new Map<string, Set<string>>()
  const memories = new LRUCache<string, KnownTargets>({
    maxSize: REMEMBERED,
    sizeCalculation: count,
    dispose: (_memory, key) => removeKey(keysOf, key),
    noDisposeOnSet: true
  })
  const refused = new WeakSet<KnownTargets>()
  const context: TargetContext = { urlsOf, languageKeysOf, time, memories, keysOf, refused }
  return {
    of: (caller) => targetsOf(context, caller),
    learn: (memory, references, document, caller, page) =>
      learnTargets(context, memory, references, document, caller, page),
    learnOriginals: (memory, translated, document) =>
      learnOriginalTargets(context, memory, translated, document),
    settle: (memory, translated) => settleTargets(context, memory, translated),
    refuse: (caller, id) => refuseTargets(context, caller, id),
    outdate: (id) => outdateTargets(context, id),
    age: (caller) => targetsAge(context, caller)
  }
}

export function targetsOf(context: TargetContext, caller: Caller): KnownTargets {
  return freshTargets(context, caller) ?? emptyTargets(context)
}

export function learnTargets(
  context: TargetContext,
  memory: KnownTargets,
  references: ResourceIdentifier[],
  document: Document,
  caller: Caller,
  page?: string
): void {
  const before = count(memory)
  if (page !== undefined) memory.pages.add(page)
  const targetIn = targetsIn(context, document)
  putAll(context, memory, references, (reference) => targetIn(reference) ?? HIDDEN)
  const isSame = memory.targets.size === 0 || count(memory) === before
  if (!isSame && !context.refused.has(memory)) keepTargets(context, memory, caller)
}

/** Takes the targets into the cache, or gives them their new size there. */
function keepTargets(
  { memories, keysOf }: TargetContext,
  memory: KnownTargets,
  caller: Caller
): void {
  // Deleted first, so that the cache recomputes its size.
  const key = readKey('', caller)
  memories.delete(key)
  memories.set(key, memory)
  // The cache does not take one that is too large.
  if (!memories.has(key)) return
  const owner = fingerprint(caller)
  keysOf.set(owner, (keysOf.get(owner) ?? new Set()).add(key))
}

export function learnOriginalTargets(
  context: TargetContext,
  memory: KnownTargets,
  translated: ResourceIdentifier[],
  document: Document
): void {
  const targetIn = targetsIn(context, document)
  const originals = translated.filter((reference) => {
    const target = targetIn(reference)
    return target !== undefined && !target.isTranslation
  })
  putAll(context, memory, originals, (reference) => targetIn(reference)!)
}

export function settleTargets(
  context: TargetContext,
  memory: KnownTargets,
  translated: ResourceIdentifier[]
): void {
  putAll(context, memory, translated, ({ type, id }) => {
    const { isTranslation: _, ...target } = memory.targets.get(type)!.get(id)!
    return target
  })
}

export function refuseTargets(
  { memories, keysOf, refused }: TargetContext,
  caller: Caller,
  id?: string
): void {
  for (const key of [...(keysOf.get(fingerprint(caller)) ?? [])]) {
    const memory = memories.peek(key)!
    if (id !== undefined && !shows(memory, id)) continue
    refused.add(memory)
    memories.delete(key)
  }
}

/** Forgets the memories that show an entity, and what a request is still learning of it. */
export function outdateTargets({ memories, refused }: TargetContext, id: string): void {
  for (const [key, memory] of [...memories.entries()]) {
    if (!shows(memory, id)) continue
    refused.add(memory)
    memories.delete(key)
  }
}

function shows({ targets }: KnownTargets, id: string): boolean {
  return [...targets.values()].some((ofType) => ofType.has(id.toLowerCase()))
}

export function targetsAge(context: TargetContext, caller: Caller): number {
  const memory = freshTargets(context, caller)
  return memory ? context.time.monotonic() - memory.since : 0
}

function freshTargets({ memories, time }: TargetContext, caller: Caller): KnownTargets | undefined {
  const memory = memories.get(readKey('', caller))
  return memory && time.monotonic() - memory.since < REMEMBERED_MS ? memory : undefined
}

function emptyTargets({ time, urlsOf }: TargetContext): KnownTargets {
  const targets = new Map()
  return {
    since: time.monotonic(),
    targets,
    weight: 0,
    urlOf: urlsOf(targets),
    documents: new WeakSet(),
    resources: new WeakSet(),
    pages: new Set()
  }
}

/** Finds the targets that a document includes. */
function targetsIn(
  { languageKeysOf }: TargetContext,
  { included = [] }: Document
): (reference: ResourceIdentifier) => Target | undefined {
  const targets = new Map(
    included.map(({ type, id, attributes }) => [
      `${type} ${id}`,
      targetOf(attributes, languageKeysOf(type))
    ])
  )
  return ({ type, id }) => targets.get(`${type} ${id}`)
}

function putAll(
  { urlsOf }: TargetContext,
  memory: KnownTargets,
  references: ResourceIdentifier[],
  targetFor: (reference: ResourceIdentifier) => Target
): void {
  let hasChanged = false
  for (const reference of references) {
    hasChanged = put(memory, reference, targetFor(reference)) || hasChanged
  }
  if (!hasChanged) return
  memory.urlOf = urlsOf(memory.targets)
  memory.documents = new WeakSet()
}

/** Removes the key of a memory that the cache has dropped. */
function removeKey(keysOf: Map<string, Set<string>>, key: string): void {
  const owner = key.split('\n', 1)[0]!
  const keys = keysOf.get(owner)!
  keys.delete(key)
  if (keys.size === 0) keysOf.delete(owner)
}

/** The references of resources in these relationships, except those whose entity is gone. */
export function referencesIn(resources: Resource[], names: string[]): ResourceIdentifier[] {
  const references: ResourceIdentifier[] = []
  for (const { relationships } of resources) {
    for (const name of names) {
      for (const identifier of identifiers(relationships?.[name])) {
        if (!isLost(identifier)) references.push(identifier)
      }
    }
  }
  return references
}

/** Those of the relationships in which resources have a target that is not known. */
export function namesWithUnknownTargets(
  resources: Resource[],
  names: ReadonlySet<string>,
  targets: Targets
): string[] {
  const isKnown = (identifier: ResourceIdentifier) =>
    isLost(identifier) || targets.get(identifier.type)?.has(identifier.id)
  return [...names].filter(
    (name) =>
      !resources.every(({ relationships }) => identifiers(relationships?.[name]).every(isKnown))
  )
}

/** A reference to a target that the CMS has shown in a translation. */
export interface TranslatedReference extends ResourceIdentifier {
  /** The public name of a relationship that has it. */
  relationship: string
  /** The language of the translation. */
  langcode: string | undefined
}

/** The references to translated targets that resources have in these relationships. */
export function translatedIn(
  resources: Resource[],
  names: ReadonlySet<string>,
  targets: Targets
): TranslatedReference[] {
  return [...names].flatMap((relationship) =>
    referencesIn(resources, [relationship]).flatMap((reference) => {
      const target = targets.get(reference.type)?.get(reference.id)
      return target?.isTranslation ? { ...reference, relationship, langcode: target.langcode } : []
    })
  )
}

/**
 * Puts a target into its place. A translation does not replace its original.
 * @returns whether another one was there
 */
function put(memory: KnownTargets, { type, id }: ResourceIdentifier, target: Target): boolean {
  const { targets } = memory
  const ofType = targets.get(type) ?? targets.set(type, new Map()).get(type)!
  const earlier = ofType.get(id)
  if (target.isTranslation && earlier?.langcode !== undefined && !earlier.isTranslation) {
    return false
  }
  ofType.set(id, target)
  memory.weight += weightOf(target) - (earlier ? weightOf(earlier) : 0)
  return (
    earlier !== undefined &&
    (earlier.alias !== target.alias ||
      earlier.fileUrl !== target.fileUrl ||
      earlier.langcode !== target.langcode)
  )
}

/** So many characters count as much as a target does. */
const CHARACTERS = 256

function weightOf({ alias = '', fileUrl = '', langcode = '' }: Target): number {
  return 1 + Math.trunc((alias.length + fileUrl.length + langcode.length) / CHARACTERS)
}

function count({ weight, pages }: KnownTargets): number {
  return pages.size + weight
}
