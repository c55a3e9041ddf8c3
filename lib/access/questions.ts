import { languageOf, lockNameOf } from '../boards/names.ts'
import { createEditions, type Editions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { createCatalog } from '../editions/site/catalog.ts'
import { createSite } from '../editions/site/site.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { refusal, saysEditable } from '../editions/translate/failures.ts'
import { Failure, texts, type FailureCode } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { upstream, type Http } from '../http/client.ts'
import { textOf } from '../http/exchange.ts'
import { createJsonapi } from '../drupal/client.ts'
import { hasSession } from '../drupal/credentials.ts'
import { isSameUuid, scalarText } from '../drupal/document.ts'
import type { RefusalListener } from '../drupal/refusals.ts'
import type { Entity } from '../locks/schemas.ts'
import { ENTITY_ID_PATTERN } from '../patterns.ts'
import type { EntityIds } from './access.ts'

/** Where JSON:API has an entity that the caller may view. */
export interface EntityLocation extends EntityIds {
  /** Below the JSON:API prefix, such as `/node/article/<uuid>`. */
  path: string
  /** The language that it was shown in. */
  language: string | undefined
}

/**
 * What the CMS is asked about one entity, with the credentials of one caller. Both throw where it
 * does not say.
 */
export interface Questions {
  /**
   * The entity, by its integer id or uuid; undefined where it is hidden from the caller, or absent.
   */
  find(entity: Entity, caller: Caller): Promise<EntityLocation | undefined>
  /**
   * Whether the caller may edit it.
   * @throws {Failure} CMS_READ_ONLY where JSON:API takes no writes, so that it cannot be asked
   */
  isEditable(place: EntityLocation, caller: Caller): Promise<boolean>
}

export interface QuestionsOptions {
  http: Http
  /** Path of JSON:API below the address of the CMS, such as `/jsonapi`. */
  jsonapiPath: string
  model: ContentModel
  /** Origin of the CMS, with a path if Drupal lives under one. */
  cmsUrl: string
  /** Told what an operator should know. */
  warn: (message: string) => void
  /** Told of what the CMS refuses to show a caller. */
  onRefusal?: RefusalListener | undefined
}

const ID = new RegExp(`^${ENTITY_ID_PATTERN}$`)
const TOKEN = /^[\w-]{16,128}$/

/** The statuses by which Drupal hides an entity from the caller: a refusal, or not found. */
const NOT_VISIBLE: readonly FailureCode[] = ['NOT_FOUND', 'CMS_FORBIDDEN', 'CMS_UNAUTHORIZED']

/**
 * Asks Drupal through JSON:API.
 *
 * To learn whether a caller may edit, Quoin sends a PATCH that cannot succeed: its document is
 * empty. Drupal checks the access to the entity with the route. Only then does it read the
 * document, and refuse it, since the document has no type and not the entity's id. Source:
 * Drupal\jsonapi\Routing\Routes (_entity_access: entity.update), Drupal\jsonapi\Normalizer\
 * JsonApiDocumentTopLevelNormalizer::validateRequestBody(),
 * Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
export function createQuestions({
  http,
  jsonapiPath,
  model,
  cmsUrl,
  warn,
  onRefusal
}: QuestionsOptions): Questions {
  const cms = createJsonapi({ http, jsonapiPath, languages: model.languages, onRefusal })
  const catalog = createCatalog({ cms, model })
  const lookups = new Map<string, Editions['bare']>()

  /**
   * Finds entities of any type as editions are found: by a filter, or without filter access by a
   * search of the list.
   */
  function lookUp(entityType: string): Editions['bare'] {
    const lookup = lookups.get(entityType)
    if (lookup) return lookup
    const site = createSite({ cms, model: modelOf(entityType, model), cmsUrl, warn })
    const { bare } = createEditions({ site, ...(onRefusal && { onRefusal }) })
    lookups.set(entityType, bare)
    return bare
  }

  async function find(
    { type, id: lockId }: Entity,
    caller: Caller
  ): Promise<EntityLocation | undefined> {
    // Who may see or edit an entity may do so in all its languages: Drupal is asked about the
    // entity.
    const { id } = lockNameOf(lockId, model)
    if (!ID.test(id)) return undefined
    const all = await catalog.all(caller)
    for (const entityType of entityTypesOf(type, model)) {
      const collection = all.find((collection) => collection.entityType === entityType)
      const edition = collection && (await visible(lookUp(entityType)(id, caller)))
      const uuid = edition && shownUuid(edition, id, modelOf(entityType, model))
      if (uuid !== undefined) {
        const own = modelOf(entityType, model)
        return {
          path: `${collection!.path}/${uuid}`,
          id: scalarText(edition![own.keys.id]?.[0]?.value),
          uuid,
          language: languageOf(edition!, own)
        }
      }
    }
    return undefined
  }

  async function isEditable({ path, language }: EntityLocation, caller: Caller): Promise<boolean> {
    const token = hasSession(caller.headers) ? { 'x-csrf-token': await sessionToken(caller) } : {}
    const answer = await cms.request({
      method: 'PATCH',
      path,
      body: {},
      caller: { ...caller, headers: { ...caller.headers, ...token } },
      language
    })
    if (saysEditable(answer)) return true
    if ([401, 403, 404].includes(answer.status)) return false
    if (answer.status < 300) {
      throw new Failure(
        'CMS_INVALID_RESPONSE',
        'The CMS accepted a change that it should have refused'
      )
    }
    const failure = refusal(answer)
    if (failure.code !== 'CMS_READ_ONLY') throw failure
    throw new Failure(failure.code, texts.editorsUnknown(failure.message), { cause: failure.cause })
  }

  /**
   * The token that Drupal wants with a session cookie, which the caller need not have sent with a
   * lock.
   */
  async function sessionToken(caller: Caller): Promise<string> {
    const { status, body } = await http.send({
      method: 'GET',
      path: '/session/token',
      headers: caller.headers,
      repeatable: true
    })
    const token = textOf(body).trim()
    if (status !== 200 || !TOKEN.test(token)) throw upstream(status, body)
    return token
  }

  return { find, isEditable }
}

async function visible(edition: Promise<EditionJson>): Promise<EditionJson | undefined> {
  try {
    return await edition
  } catch (error) {
    if (error instanceof Failure && NOT_VISIBLE.includes(error.code)) return undefined
    throw error
  }
}

/** The entity types whose locks have this type. */
function entityTypesOf(type: string, { lockTypes }: ContentModel): string[] {
  const named = Object.keys(lockTypes).filter((entityType) => lockTypes[entityType] === type)
  return named.length > 0 ? named : [type]
}

/** The content model of editions, with another entity type in their place. */
function modelOf(entityType: string, model: ContentModel): ContentModel {
  if (entityType === model.entityType) return model
  const { bundles, editionTypes, ...rest } = model
  return {
    ...rest,
    entityType,
    keys: { ...model.keys, id: model.idKeys[entityType] ?? 'id', langcode: 'langcode' }
  }
}

/** The uuid of what the CMS answered with, if that is what was asked for. */
function shownUuid(edition: EditionJson, id: string, { keys }: ContentModel): string | undefined {
  const uuid = String(edition[keys.uuid]?.[0]?.value)
  return isSameUuid(uuid, id) || String(edition[keys.id]?.[0]?.value) === id ? uuid : undefined
}
