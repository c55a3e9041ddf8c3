import type { ContentModel } from '../model.ts'

export type Keys = ContentModel['keys']

/**
 * Drupal core's entity keys, where they differ from the defaults; its ids are in `idKeys`. A type
 * without bundles has no key for them.
 */
const CORE_KEYS: Readonly<Record<string, Partial<Keys>>> = {
  node: { revision: 'vid' },
  media: { revision: 'vid', bundle: 'bundle', label: 'name' },
  taxonomy_term: { bundle: 'vid', label: 'name', owner: null },
  user: { label: 'name' },
  file: { label: 'filename' },
  comment: { bundle: 'comment_type', label: 'subject' },
  block_content: { label: 'info', owner: null }
}

const DEFAULT_KEYS: Keys = {
  id: 'id',
  uuid: 'uuid',
  revision: 'revision_id',
  bundle: 'type',
  label: 'title',
  published: 'status',
  owner: 'uid',
  changed: 'changed',
  langcode: 'langcode',
  defaultLangcode: 'default_langcode'
}

/** The keys of any entity type, as the content model or Drupal core has them. */
export function entityKeys(entityType: string, model: ContentModel): Keys {
  if (entityType === model.entityType) return model.keys
  const { [entityType]: id = 'id' } = model.idKeys
  return { ...DEFAULT_KEYS, ...CORE_KEYS[entityType], id }
}
