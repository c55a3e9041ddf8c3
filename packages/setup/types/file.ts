import { nameText, type FieldType } from './fields.ts'

/** What a file of types begins with. Another file is not written over. */
export const WRITTEN = '// Written by `quoin types`'

/** A bundle and its fields. */
export interface BundleType {
  bundle: string
  /** What people call it; its name where that is not known. */
  label: string
  /** Without entities to be seen no field is known. */
  fields: FieldType[]
}

/** The bundles of editions, and those of each list of the content model. */
export interface ContentTypes {
  editions: BundleType[]
  lists: Array<{ name: string; bundles: BundleType[] }>
}

/** The types that the client's package has for items. */
const IMPORTED = ['Reference', 'Time', 'Value']

/**
 * A module of TypeScript with an interface for each bundle, `Edition` for all editions, and `Lists`
 * for what the content model's lists have: `createClient<Edition, Lists>()`.
 * @param from what was asked, for the reader
 */
export function typesText({ editions, lists }: ContentTypes, from: string): string {
  const taken = new Set(['Edition', 'Lists', ...IMPORTED])
  const named = (bundle: BundleType, end: string) => ({
    ...bundle,
    name: freeName(`${pascal(bundle.bundle)}${end}`, taken)
  })
  const ofEditions = editions.map((bundle) => named(bundle, 'Edition'))
  const ofLists = lists.map(({ name, bundles }) => ({
    name,
    bundles: bundles.map((bundle) => named(bundle, ''))
  }))
  const interfaces = [...ofEditions, ...ofLists.flatMap(({ bundles }) => bundles)]
    .map(interfaceText)
    .join('\n')
  const used = IMPORTED.filter((name) => new RegExp(`\\b${name}\\b`).test(interfaces))
  const imports =
    used.length > 0 ? `import type { ${used.join(', ')} } from '@quoin/client'\n\n` : ''
  const listMembers = ofLists.map(
    ({ name, bundles }) => `  ${nameText(name)}: ${unionText(bundles)}\n`
  )
  return `${WRITTEN} from what ${plain(from)}. Write it anew when fields change.

${imports}${interfaces}
/** An edition of any bundle. */
${exported(`type Edition = ${unionText(ofEditions)}`)}

/** What the content model's lists have. */
${exported(`interface Lists {\n${listMembers.join('')}}`)}
`
}

function interfaceText({ name, bundle, label, fields }: BundleType & { name: string }): string {
  const what = label === bundle ? bundle : `${label} (${bundle})`
  const members = fields.map(
    ({ name, item, isOptional }) =>
      `  ${nameText(name)}${isOptional ? '?' : ''}: ${/^\w+$/.test(item) ? `${item}[]` : `Array<${item}>`}\n`
  )
  const note = fields.length === 0 ? ' None was seen, so no field is known.' : ''
  return `/** ${plain(what)}.${note} */
${exported(`interface ${name} {\n${members.join('')}${fields.length === 0 ? '  [field: string]: unknown\n' : ''}}`)}
`
}

const exported = (declaration: string): string => `export ${declaration}`

function unionText(types: Array<{ name: string }>): string {
  return types.map(({ name }) => name).join(' | ')
}

/** A name of another's as a comment has it. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').replaceAll('*/', '* /')
}

function pascal(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  const text = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return /^[A-Za-z]/.test(text) ? text : `Bundle${text}`
}

/** The name, with a number where it is taken; takes it. */
function freeName(name: string, taken: Set<string>): string {
  let free = name
  for (let count = 2; taken.has(free); count++) free = `${name}${count}`
  taken.add(free)
  return free
}
