import { randomUUID } from 'node:crypto'
import { entityTypes, isReference, mainProperty } from './model.ts'

/** One value of a field, by its properties; never changed, only replaced. */
export type Item = Readonly<Record<string, unknown>>

/**
 * An entity as a site stores it: every field a list of items; configuration keeps its values in
 * `config`. Never changed, only replaced.
 */
export interface Entity {
  entityType: string
  bundle: string
  uuid: string
  id: number | string
  revision: number
  fields: Record<string, Item[]>
  config?: Record<string, unknown>
}

/**
 * An entity to begin with. `type` is the resource type ("node--article"); a field is given as a
 * list of items, one item, or a bare value; timestamps are Unix seconds, dates with a time are UTC
 * without a zone. Of a field of one value the first is shown; those after it are what translations
 * have, by which Drupal sorts and filters too.
 */
export interface Seed {
  type: string
  uuid?: string
  id: number | string
  revision?: number
  fields?: Record<string, unknown>
  config?: Record<string, unknown>
}

/** What a save or a deletion left behind: plain JSON. */
export type Change =
  { saved: Entity; removed?: never } | { removed: { entityType: string; uuid: string } }

/** The changes of an earlier life of the site, and where those of this one go. */
export interface Kept {
  changes: Change[]
  keep: (change: Change) => void
}

export interface Store {
  all: (entityType: string, bundle?: string) => Entity[]
  byUuid: (entityType: string, uuid: string) => Entity | undefined
  byId: (entityType: string, id: number | string) => Entity | undefined
  revision: (entityType: string, revision: number) => Entity | undefined
  insert: (entity: Omit<Entity, 'id' | 'revision'>) => Entity
  update: (entity: Entity, newRevision: boolean) => Entity
  remove: (entity: Entity) => void
}

const mains = new Map(
  Object.values(entityTypes).flatMap((type) =>
    type.fields.map((field) => [`${type.id} ${field.name}`, mainProperty(field)])
  )
)

const items = (entityType: string, name: string, value: unknown): Item[] => {
  const main = mains.get(`${entityType} ${name}`)
  if (main === undefined) throw new Error(`${entityType} has no field ${name}`)
  if (value === null || value === undefined) return []
  const list = Array.isArray(value) ? value : [value]
  return list.map((one) => (typeof one === 'object' && one !== null ? one : { [main]: one }))
}

const defaults: Record<string, Record<string, unknown>> = {
  publisher_container: {
    langcode: 'en',
    status: true,
    default_langcode: true,
    revision_translation_affected: true
  },
  node: {
    langcode: 'en',
    status: true,
    promote: true,
    sticky: false,
    default_langcode: true,
    revision_translation_affected: true,
    path: { alias: null, pid: null, langcode: 'en' },
    comment: {
      status: 2,
      cid: 0,
      last_comment_timestamp: 0,
      last_comment_name: null,
      last_comment_uid: 0,
      comment_count: 0
    }
  },
  taxonomy_term: {
    langcode: 'en',
    status: true,
    weight: 0,
    parent: [{ target_id: 0 }],
    default_langcode: true,
    revision_translation_affected: true,
    path: { alias: null, pid: null, langcode: 'en' }
  },
  file: { langcode: 'en', filemime: 'image/png', filesize: 282, status: true },
  user: {
    langcode: 'en',
    preferred_langcode: 'en',
    timezone: 'Europe/Berlin',
    status: true,
    default_langcode: true
  }
}

const defaultItems = new Map(
  Object.entries(defaults).map(([entityType, given]) => [
    entityType,
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, items(entityType, name, value)])
    )
  ])
)

/** The fields that an entity of that type has when nobody gave them, as items. */
export const defaultFields = (entityType: string): Record<string, Item[]> => ({
  ...defaultItems.get(entityType)
})

const entities = new WeakMap<Seed, Entity>()

/**
 * The entity of a seed: the same one for every store that begins with it, as entities are only ever
 * replaced.
 */
function entityOf(seed: Seed): Entity {
  const earlier = entities.get(seed)
  if (earlier) return earlier
  const [entityType = '', bundle = ''] = seed.type.split('--')
  const fields = defaultFields(entityType)
  for (const [name, value] of Object.entries(seed.fields ?? {})) {
    fields[name] = items(entityType, name, value)
  }
  const revision = seed.revision ?? (typeof seed.id === 'number' ? seed.id : 0)
  const entity = {
    entityType,
    bundle,
    uuid: seed.uuid ?? randomUUID(),
    id: seed.id,
    revision,
    fields,
    ...(seed.config ? { config: seed.config } : {})
  }
  entities.set(seed, entity)
  return entity
}

const NOTHING_KEPT: Kept = { changes: [], keep: () => {} }

/** The entities of the site by uuid, by id and by revision; ids and revisions only ever grow. */
export function createStore(seeds: Seed[], { changes, keep }: Kept = NOTHING_KEPT): Store {
  const types = new Map<string, Map<string, Entity>>()
  const ids = new Map<string, string>()
  const revisions = new Map<string, Map<number, Entity>>()
  const lastIds = new Map<string, { id: number; revision: number }>()

  const table = (entityType: string) => {
    if (!types.has(entityType)) types.set(entityType, new Map())
    return types.get(entityType)!
  }

  const put = (entity: Entity) => {
    table(entity.entityType).set(entity.uuid, entity)
    ids.set(`${entity.entityType} ${entity.id}`, entity.uuid)
    if (!revisions.has(entity.entityType)) revisions.set(entity.entityType, new Map())
    revisions.get(entity.entityType)!.set(entity.revision, entity)
    const last = lastIds.get(entity.entityType) ?? { id: 0, revision: 0 }
    lastIds.set(entity.entityType, {
      id: typeof entity.id === 'number' ? Math.max(last.id, entity.id) : last.id,
      revision: Math.max(last.revision, entity.revision)
    })
    return entity
  }

  const save = (entity: Entity) => {
    keep({ saved: entity })
    return put(entity)
  }

  const drop = ({ entityType, uuid }: Pick<Entity, 'entityType' | 'uuid'>) => {
    const id = table(entityType).get(uuid)?.id
    ids.delete(`${entityType} ${id}`)
    table(entityType).delete(uuid)
    for (const [number, one] of revisions.get(entityType) ?? []) {
      if (one.uuid === uuid) revisions.get(entityType)!.delete(number)
    }
  }

  for (const seed of seeds) put(entityOf(seed))
  for (const change of changes) {
    if (change.removed) drop(change.removed)
    else put(change.saved)
  }

  return {
    all: (entityType, bundle) =>
      [...table(entityType).values()].filter(
        (one) => bundle === undefined || one.bundle === bundle
      ),
    byUuid: (entityType, uuid) => table(entityType).get(uuid),
    byId: (entityType, id) => table(entityType).get(ids.get(`${entityType} ${id}`) ?? ''),
    revision: (entityType, revision) => revisions.get(entityType)?.get(revision),
    insert: (entity) => {
      const last = lastIds.get(entity.entityType) ?? { id: 0, revision: 0 }
      return save({ ...entity, id: last.id + 1, revision: last.revision + 1 })
    },
    update: (entity, newRevision) => {
      const revision = newRevision ? lastIds.get(entity.entityType)!.revision + 1 : entity.revision
      return save({ ...entity, revision })
    },
    remove: ({ entityType, uuid }) => {
      keep({ removed: { entityType, uuid } })
      drop({ entityType, uuid })
    }
  }
}

/** The first item's main value of a field, or undefined. */
export function valueOf(entity: Entity, name: string): unknown {
  return valuesOf(entity, name)[0]
}

/** The main values of a field; of a field of one value, those of all translations. */
export function valuesOf(entity: Entity, name: string): unknown[] {
  const field = entityTypes[entity.entityType]?.fields.find((one) => one.name === name)
  if (field === undefined) return []
  const property = isReference(field) ? 'target_id' : mainProperty(field)
  return (entity.fields[name] ?? []).map((item) => item[property])
}
