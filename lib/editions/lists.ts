import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import type { ContentList } from './list/content-list.ts'
import { rethrowRefusal } from './load.ts'
import type { Looks } from './lookup/looks.ts'
import type { Sections } from './lookup/sections.ts'
import { requireMatch } from './read.ts'
import type { EditionText } from './translate/texts.ts'

/** Reads an entity of a list. */
export async function readListed(
  context: EditionContext,
  name: string,
  id: string,
  caller: Caller,
  ifMatch?: string
): Promise<EditionText> {
  const list = await requireList(context, name, caller)
  const entity = await list
    .read(id, caller)
    .catch((error) => rethrowRefusal(context, error, caller, id, list.model.keys))
  requireMatch(entity, ifMatch)
  return entity
}

/** Reads the images and sections of rows of a list. */
export async function readLooks(
  context: EditionContext,
  name: string,
  uuids: string[],
  caller: Caller
): Promise<Looks> {
  const list = await requireList(context, name, caller)
  return list.looks(uuids, caller).catch((error) => rethrowRefusal(context, error, caller))
}

/**
 * Reads the sections of a list.
 * @throws {Failure} BAD_REQUEST where the content model names no field for them
 */
export async function readListSections(
  context: EditionContext,
  name: string,
  caller: Caller
): Promise<Sections> {
  const { sections } = await requireList(context, name, caller)
  if (!sections) throw withoutSections()
  return sections(caller).catch((error) => rethrowRefusal(context, error, caller))
}

export function withoutSections(): Failure {
  return new Failure(
    'BAD_REQUEST',
    'The content model names no field with the section of this list'
  )
}

/** @throws {Failure} NOT_FOUND */
async function requireList(
  context: EditionContext,
  name: string,
  caller: Caller
): Promise<ContentList> {
  const list = await findList(context, name, caller)
  if (!list) {
    throw new Failure('NOT_FOUND', `There is no list "${name}"; there are ${listNames(context)}`)
  }
  return list
}

/**
 * The list with a name; undefined where there is none. A bundle of editions with that name has
 * precedence.
 * @throws {Failure} NOT_FOUND where JSON:API exposes nothing of the list
 */
export async function findList(
  context: EditionContext,
  name: string,
  caller: Caller
): Promise<ContentList | undefined> {
  const list = context.lists.get(name)
  if (!list) return undefined
  try {
    if (await isOfEditions(context, name, caller)) return undefined
    if (await list.isExposed(caller)) return list
  } catch (error) {
    rethrowRefusal(context, error, caller)
  }
  throw new Failure('NOT_FOUND', `The CMS exposes nothing of the list "${name}" through JSON:API`)
}

/** Whether a name is that of the entity type of editions, or of one of its bundles. */
async function isOfEditions(
  { model, site }: EditionContext,
  name: string,
  caller: Caller
): Promise<boolean> {
  if (name === model.entityType) return true
  const collections = await site.catalog.all(caller)
  return collections.some(
    ({ entityType, bundle }) => entityType === model.entityType && bundle === name
  )
}

/** The names of all lists, for messages. */
export function listNames({ lists }: EditionContext): string {
  return [...lists.keys()].join(', ')
}
