/** What the service says of itself with the page. */
export interface Settings {
  /** How callers are known. */
  auth: 'none' | 'jwt' | 'drupal'
  /** The origin of Drupal. */
  cms: string
  /** The site's names: see docs/content-model.md. */
  model: Model
}

export interface Model {
  entityType: string
  /** Null for what the entity type does not have. */
  keys: Record<'id' | 'uuid', string> &
    Record<
      'revision' | 'bundle' | 'label' | 'published' | 'changed' | 'langcode' | 'defaultLangcode',
      string | null
    >
  fields: { key: string | null; editionType: string | null; articles: string[] }
  timestampFields: string[]
  /** The site's, an IANA name; without it times are shown as the CMS writes them. */
  timeZone?: string
  /** What Drupal says to editors of fields, as far as the content model has it, in its form's order. */
  fieldConfig: Record<
    string,
    { label?: string; description?: string; required?: boolean; group?: string }
  >
  /** Fields that hold references, and to what. */
  references: Record<string, string>
  bundleEntityType: string | null
  /** What editions are made of, by the names of lists. */
  lists: Record<
    string,
    {
      entityType: string
      bundles?: string[]
      image?: string
      section?: string
      keys?: Partial<Record<string, string>>
    }
  >
  /** The field that closing an edition sets, by default the key `published`, and to what. */
  closing: { field?: string; value: boolean | number | string }
  lockTypes: Record<string, string>
  lockIds: 'id' | 'uuid'
}

/** One value of a field, in core REST's JSON. */
export type Item = Record<string, unknown>

/** An edition in core REST's JSON: every field a list of items. */
export type Edition = Record<string, Item[] | undefined>

/** The main value of a field's first item, as text. */
export function valueOf(edition: Edition, name: string | null): string {
  const item = name === null ? undefined : edition[name]?.[0]
  return String(item?.['value'] ?? item?.['target_id'] ?? '')
}

/**
 * The language of an edition's texts, as in HTML; undefined where it is not told, or is none
 * (`und`, `zxx`).
 */
export function languageOf(
  edition: Edition,
  { keys: { langcode } }: Pick<Model, 'keys'>
): string | undefined {
  const code = valueOf(edition, langcode)
  return ['', 'und', 'zxx'].includes(code) ? undefined : code
}

/**
 * Whether an edition is published; undefined where the entity type has no status, or the user is
 * not shown it.
 */
export function isPublished(
  edition: Edition,
  { keys: { published } }: Pick<Model, 'keys'>
): boolean | undefined {
  const status = published === null ? undefined : edition[published]?.[0]?.['value']
  return typeof status === 'boolean' ? status : undefined
}

/** The id by which locks name what an item refers to. */
export function lockIdOf(item: Item, { lockIds }: Model): string {
  return String(item[lockIds === 'id' ? 'target_id' : 'target_uuid'])
}

/** What the locks of an edition are on. */
export function entityOf(
  edition: Edition,
  { entityType, keys, lockTypes, lockIds }: Model
): { type: string; id: string } {
  return { type: lockTypes[entityType] ?? entityType, id: valueOf(edition, keys[lockIds]) }
}
