import { Type, type TSchema } from '@sinclair/typebox'

/**
 * What a setting's schema says besides what its value may be. `npm run settings` makes the
 * documents of it.
 */
export interface SettingNotes {
  /** What the setting is for; in Markdown. */
  description: string
  /** When to give it another value than the one that it has by itself; in Markdown. */
  turn: string
  /** Which values it takes. The message about a wrong value ends with this. */
  allowed: string
  /** A value to show where there is no default. */
  example?: string | number
  /** The behaviour while it is not set, where there is no default. */
  unset?: string
  /** What `npm run dev` takes while it is not set. */
  dev?: string
}

/** A setting: the schema of its value, with what the documents say of it. */
export function setting<T extends TSchema>(schema: T, about: SettingNotes): T & SettingNotes {
  return Object.assign(schema, about)
}

/** Puts settings under a heading of the documents. */
export function inGroup<T extends Record<string, TSchema & SettingNotes>>(
  group: string,
  settings: T
): T {
  for (const schema of Object.values(settings)) Object.assign(schema, { group })
  return settings
}

/**
 * A URL by http or https, without credentials, query or fragment. Each setting adds its own notes
 * to its schema.
 */
export const httpUrl = () =>
  Type.String({ format: 'url', pattern: '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$' })
