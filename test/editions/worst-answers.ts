import { individual } from './scripted-cms.ts'
import { uuidOf } from './large-site.ts'

/** As many values as an answer may have, but for those that every edition has. */
const VALUES = 480_000

/** As many bytes. */
const BYTES = 15.9e6

const edition = {
  ...individual.data,
  id: uuidOf(7),
  attributes: { ...individual.data.attributes, drupal_internal__id: 7 },
  relationships: {}
}
const many = (count: number, make: (index: number) => string) => Array.from({ length: count }, (_, index) => make(index)).join()

/** The edition with one attribute more. */
const withValue = (json: string) => JSON.stringify({ data: edition }).replace('"title":', `"field_odd":${json},"title":`)
const withAttributes = (json: string) => JSON.stringify({ data: edition }).replace('"title":', `${json},"title":`)
const reference = (index: number) => `{"type":"node--article","id":"${uuidOf(index)}","meta":{"drupal_internal__target_id":${index}}}`
const withReferences = (count: number) =>
  JSON.stringify({ data: edition }).replace('"relationships":{}', `"relationships":{"field_articles":{"data":[${many(count, reference)}]}}`)
const wide = (prefix: string) => `{${many(9000, (index) => `"${prefix}${index}":1`)}}`

/** Answers to a read of one edition that are within all limits, each the worst of its kind that is known. */
export const WORST: Readonly<Record<string, () => string>> = {
  'empty lists': () => withValue(`[${many(VALUES / 2, () => '[]')}]`),
  numbers: () => withValue(`[${many(VALUES, () => '0')}]`),
  'padded numbers': () => withValue(`[${many(VALUES, () => '"1.10"')}]`),
  objects: () => withValue(`[${many(VALUES / 3, () => '{"value":"x","format":"y"}')}]`),
  'objects of 9000 members': () => withValue(`[${many(50, () => wide('f'))}]`),
  '9000 attributes': () => withAttributes(many(9000, (index) => `"f${index}":[1,2,3]`)),
  'attributes of ever new properties': () => withAttributes(many(4500, (index) => `"f${index}":{"p${index}":1}`)),
  '9000 relationships': () =>
    JSON.stringify({ data: { ...edition, relationships: {} } }).replace(
      '"relationships":{}',
      `"relationships":{${many(9000, (index) => `"r${index}":{"data":${reference(index)}}`)}}`
    ),
  '95 000 references': () => withReferences(95_000),
  '45 000 references, included': () =>
    withReferences(45_000).replace(
      /}$/,
      `,"included":[${many(45_000, (index) => `{"type":"node--article","id":"${uuidOf(index)}","attributes":{"path":{"alias":"/\u00e4/${index}"}}}`)}]}`
    ),
  '480 levels': () => withValue('['.repeat(480) + ']'.repeat(480)),
  'one text': () => withValue(`"${'x'.repeat(BYTES)}"`),
  'one text of quotes': () => withValue(`"${'\\"'.repeat(BYTES / 2)}"`),
  'nothing but spaces': () => JSON.stringify({ data: edition }) + ' '.repeat(BYTES)
}

/** Answers beyond a limit, which once held or ended a process. */
export const BEYOND: Readonly<Record<string, () => string>> = {
  '5 000 000 empty lists': () => withValue(`[${many(5_000_000, () => '[]')}]`),
  '1 000 000 attributes': () => withAttributes(many(1_000_000, (index) => `"f${index}":0`)),
  '4 000 000 levels': () => withValue('['.repeat(4_000_000) + ']'.repeat(4_000_000))
}
