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

/** Makes the JSON of editions, once for as long as the resource does not change. */
export interface EditionTexts {
  jsonOf(loaded: LoadedEdition): JsonText<EditionJson>
  editionOf(loaded: LoadedEdition): EditionText
}

/** The urls in an edition's JSON, by its references. */
type Urls = Map<ResourceIdentifier, string | undefined>

interface TextEntry {
  urlOf: UrlOf
  json: JsonText<EditionJson>
  urls: Urls
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
  /** The texts of resources. */
  texts: WeakMap<Resource, TextEntry>
}

export function createTexts({ model, planFor }: Omit<TextContext, 'texts'>): EditionTexts {
  const context: TextContext = { model, planFor, texts: new WeakMap() }
  return {
    jsonOf: (loaded) => textEntry(context, loaded).json,
    editionOf: (loaded) => editionText(context, loaded)
  }
}

export function editionText(context: TextContext, loaded: LoadedEdition): EditionText {
  const { model } = context
  const { resource } = loaded
  const text = textEntry(context, loaded)
  const urls = () => referencesByName(resource).map((reference) => text.urls.get(reference))
  text.edition ??= {
    json: text.json,
    etag: etagOf(resource, model, urls()),
    id: scalarText(resource.attributes?.[publicName(model, model.keys.id)]) || resource.id,
    uuid: resource.id
  }
  return text.edition
}

/**
 * The text of an edition, made anew where its resource or the urls of its references are other
 * ones.
 */
function textEntry(
  { model, planFor, texts }: TextContext,
  { resource, urlOf }: LoadedEdition
): TextEntry {
  const last = texts.get(resource)
  if (last?.urlOf === urlOf) return last
  const urls: Urls = new Map()
  const edition = read(resource, model, recordUrls(urlOf, urls), planFor(resource))
  const text: TextEntry = { urlOf, json: jsonText(edition), urls }
  texts.set(resource, text)
  return text
}

/**
 * Records the urls that it gives.
 * @throws {Failure} CMS_INVALID_RESPONSE where they are too long together
 */
function recordUrls(urlOf: UrlOf, urls: Urls): UrlOf {
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
    urls.set(identifier, url)
    return url
  }
}
