/** One value of a field, in core REST's JSON. */
export type Item = Record<string, unknown>

/** An item with one value, as most fields have them. */
export interface Value<Type> {
  value: Type
}

/** A time, such as `2026-11-16T06:00:00+00:00`. */
export interface Time {
  value: string
  /** What core REST puts beside each time. */
  format?: string
}

/**
 * An item that refers to an entity: by its integer id or, of configuration, by its machine name.
 * What the CMS answers has the other members too; a save needs one of the two ids.
 */
export interface Reference<Id = number> {
  /** null where the entity is gone. */
  target_id: Id | null
  target_type?: string
  target_uuid?: string
  url?: string
}

/** The fields of Drupal core's own, under the names that most sites have for them. */
export interface CoreFields {
  id?: Array<Value<number>>
  uuid?: Array<Value<string>>
  revision_id?: Array<Value<number>>
  /** The bundle. */
  type?: Array<Reference<string>>
  langcode?: Array<Value<string>>
  title?: Array<Value<string>>
  status?: Array<Value<boolean>>
  created?: Time[]
  changed?: Time[]
  /** Who has made it. */
  uid?: Reference[]
}

/**
 * An edition in core REST's JSON, of any site: every field a list of items. Which fields there are
 * is the site's affair: `quoin types` writes a type that has them, for `createClient<MyEdition>()`.
 */
export type Edition = CoreFields & Record<string, Item[]>

/** As many fields of an edition as are meant, in the same JSON. */
export type EditionBody<AnEdition extends object = Edition> = AnEdition extends unknown
  ? string extends keyof AnEdition
    ? Record<string, unknown>
    : { [Field in keyof AnEdition]?: Written<AnEdition[Field]> }
  : never

/** A field as a save has it. */
export type Written<Items> =
  Items extends ReadonlyArray<infer OneItem>
    ? ReadonlyArray<OneItem extends { target_id: unknown } ? WrittenReference<OneItem> : OneItem>
    : Items

/** A reference as a save has it: by one of the two ids. */
export type WrittenReference<AReference extends { target_id: unknown }> = Partial<AReference> &
  (Pick<AReference, 'target_id'> | { target_uuid: string })

/** Of a union, the editions of a bundle, where their `type` tells them apart; else all of it. */
export type OfBundle<AnEdition, Bundle> = [Edition] extends [AnEdition]
  ? AnEdition
  : [OnlyOf<AnEdition, Bundle>] extends [never]
    ? AnEdition
    : OnlyOf<AnEdition, Bundle>

type OnlyOf<AnEdition, Bundle> = Extract<
  AnEdition,
  { type: ReadonlyArray<{ target_id: Bundle | null }> }
>

/** What the rows of a search are: editions, or what one of the content model's lists has. */
export type Row<AnEdition, Lists, Bundle> = [Edition, keyof Lists] extends [AnEdition, never]
  ? AnEdition
  : Bundle extends keyof Lists
    ? Lists[Bundle]
    : Bundle extends string
      ? string extends Bundle
        ? AnEdition | Lists[keyof Lists]
        : OfBundle<AnEdition, Bundle>
      : AnEdition

/** What a read with this list answers. */
export type OfList<AnEdition, Lists, List> = [Edition, keyof Lists] extends [AnEdition, never]
  ? AnEdition
  : List extends keyof Lists
    ? Lists[List]
    : List extends string
      ? Edition
      : AnEdition

/** A content model whose lists have no types of their own. */
export type NoLists = Record<never, never>
