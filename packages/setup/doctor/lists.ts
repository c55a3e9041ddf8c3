import { looksIn, URI } from '../../../lib/editions/lookup/looks.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import { notIncludable, refusal } from '../../../lib/editions/translate/failures.ts'
import { PAGE_MAX } from '../../../lib/editions/translate/query.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import {
  identifiers,
  isObject,
  resources,
  type Document,
  type Resource
} from '../../../lib/drupal/document.ts'
import type { Visitor } from './editions.ts'
import { newCaller } from '../../../lib/http/calls.ts'

/** How many lists with images or sections are checked. */
const LISTS = 20

/** A field that a list names. */
interface NamedField {
  member: 'image' | 'section'
  /** A field, or a path through a reference. */
  path: string
}

/**
 * Checks that the lists' images and sections lead to what the desk shows.
 * @param origin of the CMS
 */
export async function* checkLists(
  visitor: Visitor,
  model: ContentModel,
  origin: string
): AsyncGenerator<Diagnosis> {
  const lists = Object.entries(model.lists).filter(
    ([, { image, section }]) => image !== undefined || section !== undefined
  )
  for (const [name, { entityType, bundles, image, section }] of lists.slice(0, LISTS)) {
    const looks = Object.entries({ image, section }).flatMap(([member, path]) =>
      path === undefined ? [] : [{ member, path } as NamedField]
    )
    const collections = (await visitor.catalog.all(newCaller())).filter(
      (collection) =>
        collection.entityType === entityType && bundles?.includes(collection.bundle) !== false
    )
    if (collections.length === 0) {
      yield wrong(
        `lists.${name}: JSON:API exposes nothing of it`,
        'correct entityType and bundles of the list in the content model'
      )
    }
    for (const look of looks) {
      const diagnoses = await Promise.all(
        collections.map((collection) =>
          examine(
            visitor,
            collection,
            look,
            `lists.${name}.${look.member}: ${look.path} of ${collection.bundle}`,
            origin
          )
        )
      )
      // The bundles of a list may differ.
      const isRight = diagnoses.some(({ state }) => state === 'ok')
      yield* diagnoses.map((diagnosis) =>
        isRight && diagnosis.state === 'wrong'
          ? unchecked(
              diagnosis.what,
              'it is right of another bundle of the list; the rows of this one have none'
            )
          : diagnosis
      )
    }
  }
  if (lists.length > LISTS) {
    yield unchecked(
      `lists ${lists
        .slice(LISTS)
        .map(([name]) => name)
        .join(', ')}`,
      `the doctor looks at the images and sections of ${LISTS} lists`
    )
  }
}

async function examine(
  { cms, name }: Visitor,
  { path: address }: Collection,
  { member, path }: NamedField,
  what: string,
  origin: string
): Promise<Diagnosis> {
  const page: [string, string] = ['page[limit]', String(PAGE_MAX)]
  const request = (query: Array<[string, string]>) =>
    cms.request({ path: address, query: [...query, page], caller: newCaller() })
  const withTargets = await request([['include', path]])
  const isRefused = notIncludable(withTargets) !== undefined
  const answer = isRefused ? await request([]) : withTargets
  if (answer.status >= 400) {
    return unchecked(what, `${name} may not list it (${refusal(answer).message})`)
  }
  const { document } = answer
  const rows = resources(document)
  if (rows.length === 0) return unchecked(what, `${name} sees none on the first page`)
  const { images, sections } = looksIn(rows, document.included ?? [], {
    lookOf: () => ({ image: undefined, section: undefined, [member]: path }),
    origin
  })
  if (Object.keys({ image: images, section: sections }[member]).length > 0) return ok(what)
  const correct = `correct ${member} of the list in the content model`
  const field = path.split('.', 1)[0]!
  const values = rows
    .map(({ attributes }) => attributes?.[field])
    .filter((value) => value !== undefined)
  if (values.length > 0) return ofValues(values, what, member, correct)
  if (isRefused) {
    if (!rows.some(({ relationships = {} }) => Object.hasOwn(relationships, field))) {
      return wrong(`${what} is not there`, `${correct}, or let ${name} view the field`)
    }
    return wrong(
      field === path
        ? `${what} is a reference that JSON:API does not include`
        : `${what} leads nowhere, as what ${field} refers to has no such reference`,
      correct
    )
  }
  return ofTargets(rows, document, { member, path }, what, { name, origin, correct })
}

/** Of a field that is no reference, and has no text that a section could be. */
function ofValues(
  values: unknown[],
  what: string,
  member: NamedField['member'],
  correct: string
): Diagnosis {
  if (member === 'image') return wrong(`${what} is no reference, and so no image`, correct)
  const isEmpty = values.every(
    (value) => value === null || (Array.isArray(value) && value.length === 0)
  )
  return isEmpty
    ? unchecked(what, 'none on the first page has a value in it')
    : wrong(`${what} is neither a reference nor a text`, correct)
}

/** Follows a path to where it ends. */
function ofTargets(
  rows: Resource[],
  { included = [] }: Document,
  { member, path }: NamedField,
  what: string,
  { name, origin, correct }: { name: string; origin: string; correct: string }
): Diagnosis {
  let ends = rows
  for (const field of path.split('.')) {
    const targets = ends
      .flatMap(({ relationships }) => identifiers(relationships?.[field]))
      .filter(({ id }) => id !== 'missing' && id !== 'virtual')
    if (targets.length === 0) {
      return unchecked(what, `none on the first page has a value in ${field}`)
    }
    ends = included.filter((resource) =>
      targets.some(({ type, id }) => type === resource.type && id === resource.id)
    )
    if (ends.length === 0) {
      return unchecked(what, `${name} may not view what ${field} refers to (${typesOf(targets)})`)
    }
  }
  if (member === 'section') {
    return wrong(`${what} leads to ${typesOf(ends)}, which shows no label`, correct)
  }
  const addresses = ends.flatMap(({ attributes }) =>
    isObject(attributes?.[URI]) && typeof attributes[URI].url === 'string'
      ? [attributes[URI].url]
      : []
  )
  if (addresses.length > 0) {
    return wrong(
      `${what} leads to ${addresses[0]}, and the desk shows images of ${origin} alone, with an address of up to 2048 characters`,
      `let Drupal serve the files, or take ${member} out of the list`
    )
  }
  const images = ends
    .flatMap(({ relationships = {} }) => Object.entries(relationships))
    .filter(([, relationship]) =>
      identifiers(relationship).some(({ type }) => type === 'file--file')
    )
    .map(([field]) => `${path}.${field}`)
  const hint = images.length > 0 ? ` (${[...new Set(images)].join(' or ')}?)` : ''
  return wrong(
    `${what} leads to ${typesOf(ends)}, which shows no address of a file`,
    correct + hint
  )
}

function typesOf(targets: Array<Pick<Resource, 'type'>>): string {
  return [...new Set(targets.map(({ type }) => type))].join(', ')
}
