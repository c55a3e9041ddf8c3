import type { EntityIds } from '../access/access.ts'
import type { ContentModel } from '../editions/model.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { Failure } from '../errors.ts'
import { languageCode } from '../drupal/languages.ts'
import type { Entity } from '../locks/schemas.ts'
import { isUuid } from '../patterns.ts'
import { lockType } from './entities.ts'

/** What the id of a lock names. */
export interface LockName {
  /** The integer id or uuid of the entity. */
  id: string
  /**
   * The language of the translation that it is on; without one it is on the entity, in all
   * languages.
   */
  language?: string
}

/** Takes apart the id of a lock: `42`, or `42:es` where the content model names the language. */
export function lockNameOf(id: string, { lockLanguages }: ContentModel): LockName {
  const end = id.lastIndexOf(':')
  const language = id.slice(end + 1)
  return end > 0 && lockLanguages.includes(language) ? { id: id.slice(0, end), language } : { id }
}

/** An entity without the language that its name may have. */
export function withoutLanguage({ type, id }: Entity, model: ContentModel): Entity {
  return { type, id: lockNameOf(id, model).id }
}

/** The names that an entity's locks may be under: its own, then one for each language. */
export function inAllLanguages({ type, id }: Entity, { lockLanguages }: ContentModel): Entity[] {
  return [{ type, id }, ...lockLanguages.map((language) => ({ type, id: `${id}:${language}` }))]
}

/**
 * Those of them whose locks matter to a translation: those of its language, and those that are on
 * all languages.
 */
export function inLanguage(
  entity: Entity,
  language: string | undefined,
  model: ContentModel
): Entity[] {
  return inAllLanguages(entity, model).filter(({ id }) => {
    const name = lockNameOf(id, model)
    return name.language === undefined || name.language === language
  })
}

/** The language that an edition is shown in. */
export function languageOf(
  edition: EditionJson,
  { keys: { langcode } }: ContentModel
): string | undefined {
  return langcode === null ? undefined : languageCode(edition[langcode]?.[0]?.value)
}

/** The types of locks on entities whose ids the content model knows of. */
export function knownLockTypes(model: ContentModel): Set<string> {
  const ofLists = Object.values(model.lists).map(({ entityType }) => entityType)
  return new Set(
    [model.entityType, ...ofLists, ...Object.keys(model.idKeys)].map((type) =>
      lockType(type, model)
    )
  )
}

/**
 * Refuses the lock of an entity under another name than its own.
 * @param ids of the entity, where they are known
 * @param isNamed whether entities of this type have both names
 * @throws {Failure} BAD_REQUEST with the right name, where that is known
 */
export function checkLockName(
  { type, id }: Entity,
  ids: EntityIds | undefined,
  isNamed: boolean,
  model: ContentModel
): void {
  // Where the caller may not see the integer id its absence says nothing.
  const isKnown = ids !== undefined && (ids.id !== '' || model.lockIds === 'uuid' || !isNamed)
  const own = isKnown ? ownName(id, ids, model) : undefined
  const isOther = own === undefined ? isNamed && looksLikeOtherName(id, model) : own !== id
  if (!isOther) return
  const kind = model.lockIds === 'id' ? 'integer id' : 'uuid, in lower case'
  const here = own === undefined ? '' : `, here ${own}`
  throw new Failure(
    'BAD_REQUEST',
    `Nothing was done: locks of ${type} go by the ${kind}${here} (lockIds of the content model)`
  )
}

/** What the locks of an entity are under. A type without integer ids goes by uuids. */
function ownName(given: string, { id, uuid }: EntityIds, model: ContentModel): string {
  const { language } = lockNameOf(given, model)
  const own = model.lockIds === 'id' && id !== '' ? id : uuid.toLowerCase()
  return language === undefined ? own : `${own}:${language}`
}

/**
 * Whether an id looks like the name that locks do not go by: a uuid instead of an integer id, or
 * the other way round.
 */
function looksLikeOtherName(id: string, model: ContentModel): boolean {
  const name = lockNameOf(id, model)
  return model.lockIds === 'id'
    ? isUuid(name.id)
    : /^\d+$/.test(name.id) || name.id !== name.id.toLowerCase()
}
