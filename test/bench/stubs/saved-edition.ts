/** What saves have made of an edition. */
export interface SavedEdition {
  attributes: Record<string, unknown>
  /** When it was saved, as Drupal writes it: in whole seconds. */
  changed: string
  revision: number
}

interface Edition {
  id: string
  attributes?: Record<string, unknown>
}

/** A document of editions. */
export interface EditionDocument {
  data: Edition | Edition[]
}

/** The edition of a document; undefined where it is of none, or of several. */
export function editionOf({ data }: EditionDocument): Edition | undefined {
  if (!Array.isArray(data)) return data
  return data.length === 1 ? data[0] : undefined
}

const VERSION = /resourceVersion=id%3A\d+/g

/**
 * The document of one edition after its saves, of those attributes that it shows.
 * @param document as it was before; it is changed
 */
export function savedText(document: EditionDocument, { attributes, changed, revision }: SavedEdition): string {
  const shown = editionOf(document)?.attributes ?? {}
  const now = { ...attributes, changed, revision_timestamp: changed, drupal_internal__revision_id: revision }
  for (const [name, value] of Object.entries(now)) if (name in shown) shown[name] = value
  return JSON.stringify(document).replace(VERSION, `resourceVersion=id%3A${revision}`)
}
