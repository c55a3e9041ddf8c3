import type { Resource, ResourceIdentifier } from '../../../lib/drupal/document.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import type { Ask } from './ask.ts'
import { attributesOf, relationsOf, type Relation } from './attributes.ts'
import type { Storage } from './fields.ts'
import { guessed, hidden, type Member } from './member.ts'

/** How fields are called that hold the section of an article. */
const SECTION =
  /(?:^|_)(?:sections?|categor(?:y|ies)|ressort|rubrik|rubrique|channel|department|desk)$/

/** The picture that Drupal makes of every media entity, such as the icon of a document. */
const THUMBNAIL = 'thumbnail'

/** How many lists, and types of media, a survey looks at. */
const TRIES = 20

/** What a survey knows of what lists hold. */
export interface ListSurvey {
  collections: Collection[]
  entityTypeOf(resourceType: string): string
  /** The configuration of the fields of nodes; undefined where the account may not see it. */
  storages: Storage[] | undefined
}

/** A field or path that a list can name, and why; without a path, why there is none. */
interface Suggestion {
  path?: string
  why: string
}

/** A list as editions suggest it: one bundle of nodes. */
interface BundleList {
  entityType: string
  bundles: [string]
}

/**
 * The lists with the fields of their images and sections, where only one field can be meant, and
 * what stays open. It looks at the first page of each list.
 * @param lists the member `lists` as the references of editions suggest it
 */
export async function lookMembers(ask: Ask, lists: Member, survey: ListSurvey): Promise<Member[]> {
  const value = lists.value as Record<string, BundleList>
  const suggestions = await Promise.all(
    Object.entries(value)
      .slice(0, TRIES)
      .map(async ([name, list]) => ({ name, list, ...(await looksOf(ask, list, survey)) }))
  )
  const all = suggestions.flatMap(({ name, image, section }) =>
    [image, section].map((suggestion) => ({ name, ...suggestion }))
  )
  const remarks = (isOpen: boolean) => [
    ...new Set(
      all
        .filter(({ path }) => (path === undefined) === isOpen)
        .map(({ name, why }) => `of ${name} ${why}`)
    )
  ]
  const looks = suggestions.map(({ name, list, image, section }) => [
    name,
    {
      ...list,
      ...(image.path !== undefined && { image: image.path }),
      ...(section.path !== undefined && { section: section.path })
    }
  ])
  const open = remarks(true)
  return [
    guessed(
      lists.name,
      { ...value, ...Object.fromEntries(looks) },
      [lists.why, ...remarks(false)].join('; ')
    ),
    ...(open.length > 0 ? [hidden(lists.name, `images and sections: ${open.join('; ')}`)] : [])
  ]
}

async function looksOf(
  ask: Ask,
  { entityType, bundles: [bundle] }: BundleList,
  survey: ListSurvey
): Promise<Record<'image' | 'section', Suggestion>> {
  const { path } = survey.collections.find(
    (collection) => collection.entityType === entityType && collection.bundle === bundle
  )!
  const { rows, permission } = await ask.list(path)
  if (rows.length > 0) {
    return { image: await imageOf(ask, rows, survey), section: sectionOf(rows, survey) }
  }
  const nothing = {
    why: `nothing can be seen${permission === undefined ? '' : `; the permission '${permission}' would show it`}`
  }
  return { image: nothing, section: nothing }
}

/** The entity type that a reference field holds; undefined where nothing tells it. */
function holds(
  { name, targets: [target] }: Relation,
  { entityTypeOf, storages }: ListSurvey
): unknown {
  return target
    ? entityTypeOf(target.type)
    : storages?.find(({ field }) => field === name)?.settings.target_type
}

/** Drupal gives the identifiers of images their alternative text, unlike those of other files. */
const isImage = ({ meta }: ResourceIdentifier): boolean => Object.hasOwn(meta ?? {}, 'alt')

async function imageOf(ask: Ask, rows: Resource[], survey: ListSurvey): Promise<Suggestion> {
  const relations = relationsOf(rows)
  const direct = relations
    .filter(
      ({ name, targets }) =>
        targets.some(isImage) ||
        survey.storages?.some(({ field, type }) => field === name && type === 'image')
    )
    .map(({ name }) => name)
  const media = relations.filter((relation) => holds(relation, survey) === 'media')
  const inMedia = (
    await Promise.all(media.map((relation) => imagesInMedia(ask, relation, survey)))
  ).flat()
  const paths = [...direct, ...inMedia]
  const [path] = paths
  if (path !== undefined && paths.length === 1) return { path, why: `${path} alone holds images` }
  if (paths.length > 1) return { why: `${paths.join(', ')} hold images: name one of them` }
  return {
    why:
      media.length > 0
        ? `${media.map(({ name }) => name).join(', ')} hold media, of which none that can be seen has an image`
        : 'no field that can be seen holds images'
  }
}

/** Paths through a reference to the image fields of its media: of one entity of each type. */
async function imagesInMedia(
  ask: Ask,
  { name, targets }: Relation,
  { collections }: ListSurvey
): Promise<string[]> {
  const byType = new Map(targets.map((target) => [target.type, target]))
  const paths = await Promise.all(
    [...byType.values()].slice(0, TRIES).map(async ({ type, id }) => {
      const collection = collections.find(({ resourceType }) => resourceType === type)
      const entity = collection && (await ask.one(`${collection.path}/${encodeURIComponent(id)}`))
      return entity
        ? relationsOf([entity])
            .filter((relation) => relation.name !== THUMBNAIL && relation.targets.some(isImage))
            .map((relation) => `${name}.${relation.name}`)
        : []
    })
  )
  return [...new Set(paths.flat())]
}

function sectionOf(rows: Resource[], survey: ListSurvey): Suggestion {
  const terms = relationsOf(rows).filter((relation) => holds(relation, survey) === 'taxonomy_term')
  const texts = attributesOf(rows).filter(
    ({ values }) => values.length > 0 && values.every((value) => typeof value === 'string')
  )
  const named = [...terms, ...texts].map(({ name }) => name).filter((name) => SECTION.test(name))
  const [path] = named
  if (path !== undefined && named.length === 1) {
    return { path, why: `${path} alone is called like a section` }
  }
  if (named.length > 1) {
    return { why: `${named.join(', ')} are called like sections: name one of them` }
  }
  const singles = terms.filter(({ many }) => !many).map(({ name }) => name)
  const [single] = singles
  if (single !== undefined && singles.length === 1) {
    return { path: single, why: `${single} alone holds a single term` }
  }
  return {
    why:
      terms.length > 0
        ? `${terms.map(({ name }) => name).join(', ')} hold terms, and none is called like a section`
        : 'no field that can be seen holds terms, or is called like a section'
  }
}
