/** One item of a field, in core REST's JSON: its properties by name. */
export type FieldItem = Record<string, unknown>

/** An entity in core REST's JSON (`?_format=json`): every field a list of items. */
export type EditionJson = Record<string, FieldItem[]>
