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

interface TextEntry {
  urlOf: UrlOf
  json: JsonText<EditionJson>
  /** The urls in it, by the references. */
  urls: ReadonlyMap<ResourceIdentifier, string | undefined>
  /** Rows of a list have none. */
  edition?: EditionText
}

/** The urls of an edition's references together, in characters: each reference to one target has its url, however long. */
const LONGEST_URLS = 4 * 1024 * 1024

export function createTexts({
  model,
  planFor
}: {
  model: ContentModel
  planFor: Plans
}): EditionTexts {
  const texts = new WeakMap<Resource, TextEntry>()
  const idAttribute = publicName(model, model.keys.id)

  function textOf({ resource, urlOf }: LoadedEdition): TextEntry {
    const last = texts.get(resource)
    if (last?.urlOf === urlOf) return last
    const urls = new Map<ResourceIdentifier, string | undefined>()
    let length = 0
    const recordingUrlOf: UrlOf = (identifier, entityType) => {
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
    const text: TextEntry = {
      urlOf,
      json: jsonText(read(resource, model, recordingUrlOf, planFor(resource))),
      urls
    }
    texts.set(resource, text)
    return text
  }

  return {
    jsonOf: (loaded) => textOf(loaded).json,
    editionOf(edition) {
      const { resource } = edition
      const text = textOf(edition)
      text.edition ??= {
        json: text.json,
        etag: etagOf(
          resource,
          model,
          referencesByName(resource).map((reference) => text.urls.get(reference))
        ),
        id: scalarText(resource.attributes?.[idAttribute]) || resource.id,
        uuid: resource.id
      }
      return text.edition
    }
  }
}
