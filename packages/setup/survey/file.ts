import type { Member } from './member.ts'

/** The members of a content model in the order in which a person reads them. */
const ORDER = [
  'entityType',
  'bundleEntityType',
  'keys',
  'fields',
  'bundles',
  'editionTypes',
  'languages',
  'timeZone',
  'timestampFields',
  'decimalFields',
  'mainProperty',
  'rawFields',
  'fieldConfig',
  'references',
  'resourceTypes',
  'idKeys',
  'canonicalPaths',
  'lists',
  'lockTypes',
  'openTypes',
  'lockIds'
]

/** What no Drupal knows: how the editorial UI names locks. */
const OURS: Member[] = [
  {
    name: 'lockTypes',
    value: {},
    certainty: 'shown',
    why: 'your UI decides it: {type} in the path of a lock is the entity type unless it is another here'
  },
  { name: 'lockIds', value: 'id', certainty: 'shown', why: 'your UI decides it: id or uuid' }
]

const CERTAINTY = { shown: '', guessed: 'GUESSED: ', hidden: 'NOT SEEN: ' }

/**
 * A content model file: what a survey has found, with a comment on each member. A member that is
 * not known is left out, so it has its default.
 * @param schema where the JSON Schema of the file is, relative to it
 * @param comment the first line of its comment
 */
export function modelText(
  members: Member[],
  { schema, comment }: { schema: string; comment: string }
): string {
  const allMembers = [...members, ...OURS]
  const groups = Object.groupBy(allMembers, ({ name }) =>
    name.includes('.') ? name.slice(0, name.indexOf('.')) : ''
  )
  const file = {
    $schema: schema,
    $comment: [
      comment,
      ...groups['']!.toSorted(
        (one, other) => ORDER.indexOf(one.name) - ORDER.indexOf(other.name)
      ).map((member) => remark(member, member.name))
    ],
    ...Object.fromEntries(
      ORDER.flatMap((name): Array<[string, unknown]> => {
        const group = groups[name]
        if (group) {
          return [
            [
              name,
              {
                $comment: group.map((member) => remark(member, member.name.slice(name.length + 1))),
                ...valuesOf(group, name.length + 1)
              }
            ]
          ]
        }
        const value = allMembers.find(
          (member) => member.name === name && member.value !== undefined
        )
        return value ? [[name, value.value]] : []
      })
    )
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

function valuesOf(group: Member[], start: number): Record<string, unknown> {
  return Object.fromEntries(
    group.flatMap(({ name, value }): Array<[string, unknown]> =>
      value === undefined ? [] : [[name.slice(start), value]]
    )
  )
}

function remark({ certainty, why }: Member, name: string): string {
  return `${name}: ${CERTAINTY[certainty]}${why}`
}
