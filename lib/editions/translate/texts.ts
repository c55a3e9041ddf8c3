import { Failure } from '../../errors.ts'
import { jsonText, type JsonText } from '../../json-text.ts'
import { scalarText, type Resource, type ResourceIdentifier } from '../../drupal/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { EditionJson } from './edition-json.ts'
import { etagOf, referencesByName } from './etag.ts'
import type { Plans } from './plans.ts'
import { read, type LoadedEdition, type UrlOf } from './read.ts'

/** An edition in core REST's JSON, as a text, with its entity tag, integer id and uuid. */
export interface EditionText {
  json: JsonText<EditionJson>
  etag: string
  id: string
  uuid: string
}

/** Makes the JSON of editions, and remembers that of a resource from the second time on. */
export interface EditionTexts {
  jsonOf(loaded: LoadedEdition): JsonText<EditionJson>
  editionOf(loaded: LoadedEdition): EditionText
}

interface TextEntry {
  urlOf: UrlOf
  json: JsonText<EditionJson>
  /** Rows of a list have none. */
  edition?: EditionText
}

/**
 * The urls of an edition's references together, in characters: each reference to one target has its
 * url, however long.
 */
const LONGEST_URLS = 4 * 1024 * 1024

export interface TextContext {
  model: ContentModel
  planFor: Plans
  /** The texts of resources that have come again. */
  texts: WeakMap<Resource, TextEntry>
  /**
   * The resources that have come. V8's scavenger takes the values of a WeakMap for alive, so the
   * texts of resources that come once would all last until the next full garbage collection.
   */
  seen: WeakSet<Resource>
}

export function createTexts({
  model,
  planFor
}: Pick<TextContext, 'model' | 'planFor'>): EditionTexts {
  const context: TextContext = { model, planFor, texts: new WeakMap(), seen: new WeakSet() }
  return {
    jsonOf: (loaded) => rowText(context, loaded),
    editionOf: (loaded) => editionText(context, loaded)
  }
}

/** The text of a row of a list, which needs no entity tag. */
export function rowText(context: TextContext, loaded: LoadedEdition): JsonText<EditionJson> {
  const last = lastText(context, loaded)
  if (last) return last.json
  const { urlOf } = loaded
  const json = translate(context, loaded, limitUrls(urlOf))
  remember(context, loaded, { urlOf, json })
  return json
}

export function editionText(context: TextContext, loaded: LoadedEdition): EditionText {
  const last = lastText(context, loaded)?.edition
  if (last) return last
  const { model } = context
  const { resource, urlOf } = loaded
  const urls = new Map<ResourceIdentifier, string | undefined>()
  const limited = limitUrls(urlOf)
  const json = translate(context, loaded, (identifier, entityType) => {
    const url = limited(identifier, entityType)
    urls.set(identifier, url)
    return url
  })
  const ownUrls = referencesByName(resource).map((reference) => urls.get(reference))
  const edition = {
    json,
    etag: etagOf(resource, model, ownUrls),
    id: scalarText(resource.attributes?.[publicName(model, model.keys.id)]) || resource.id,
    uuid: resource.id
  }
  remember(context, loaded, { urlOf, json, edition })
  return edition
}

/** The last text of an edition, unless the urls of its references are other ones since. */
function lastText(
  { texts }: TextContext,
  { resource, urlOf }: LoadedEdition
): TextEntry | undefined {
  const last = texts.get(resource)
  return last?.urlOf === urlOf ? last : undefined
}

function remember(
  { texts, seen }: TextContext,
  { resource }: LoadedEdition,
  text: TextEntry
): void {
  if (seen.has(resource)) texts.set(resource, text)
  else seen.add(resource)
}

function translate(
  { model, planFor }: TextContext,
  { resource }: LoadedEdition,
  urlOf: UrlOf
): JsonText<EditionJson> {
  return jsonText(read(resource, model, urlOf, planFor(resource)))
}

/** @throws {Failure} CMS_INVALID_RESPONSE where the urls that it gives are too long together */
function limitUrls(urlOf: UrlOf): UrlOf {
  let length = 0
  return (identifier, entityType) => {
    const url = urlOf(identifier, entityType)
    length += url?.length ?? 0
    if (length > LONGEST_URLS) {
      throw new Failure(
        'CMS_INVALID_RESPONSE',
        `The CMS answered with an edition whose references have urls of more than ${LONGEST_URLS} characters together`
      )
    }
    return url
  }
}
