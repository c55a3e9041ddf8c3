import { LRUCache } from 'lru-cache'
import { scalarText, type Resource } from '../../jsonapi/document.ts'
import { publicName, type ContentModel } from '../model.ts'

/** Where the CMS has an edition. */
export interface EditionPlace {
  /** The resource type. */
  type: string
  uuid: string
}

/** Which resource type and uuid the editions have that Quoin has met. */
export interface EditionIds {
  /** @param id integer id or uuid, in lower case */
  get (id: string): EditionPlace | undefined
  /** Takes in the ids of a resource. */
  learn (resource: Resource): void
}

/** How many ids Quoin remembers. */
const IDS = 50_000

export function createEditionIds (model: ContentModel): EditionIds {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const places = new LRUCache<string, EditionPlace>({ maxSize: IDS, sizeCalculation: () => 1 })
  const idAttribute = publicName(model, model.keys.id)

  return {
    get: (id) => places.get(id),
    learn ({ type, id: uuid, attributes }) {
      for (const id of [uuid.toLowerCase(), scalarText(attributes?.[idAttribute])]) places.set(id, { type, uuid })
    }
  }
}
