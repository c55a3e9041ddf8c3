import type { ContentModel } from '../editions/model.ts'
import type { EditionJson, FieldItem } from '../editions/translate/edition-json.ts'
import { scalarText } from '../drupal/document.ts'
import type { Entity } from '../locks/schemas.ts'

/** What the locks of an edition are on, as the content model names it. */
export function lockedAs(edition: EditionJson, model: ContentModel): Entity {
  const { id, uuid } = model.keys
  return {
    type: lockType(model.entityType, model),
    id: scalarText((model.lockIds === 'id' ? edition[id] : edition[uuid])?.[0]?.value)
  }
}

/**
 * What the locks of an edition and of the articles it holds are on: the edition first, then the
 * articles in their order, each once. An article that is gone has no locks.
 */
export function entitiesOf(edition: EditionJson, model: ContentModel): Entity[] {
  const items = model.fields.articles.flatMap((field) => edition[field] ?? [])
  const all = [lockedAs(edition, model), ...items.flatMap((item) => articleOf(item, model))]
  return [...new Map(all.map((entity) => [`${entity.type}-${entity.id}`, entity])).values()]
}

function articleOf(
  { target_type: type, target_id: id, target_uuid: uuid }: FieldItem,
  model: ContentModel
): Entity[] {
  const used = model.lockIds === 'id' ? id : uuid
  const lockId = scalarText(used)
  return lockId === '' ? [] : [{ type: lockType(scalarText(type), model), id: lockId }]
}

/** The type of the locks on entities of an entity type. */
export function lockType(entityType: string, { lockTypes }: ContentModel): string {
  return lockTypes[entityType] ?? entityType
}
