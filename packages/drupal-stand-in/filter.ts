import { can, type Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import { entityTypes } from './model.ts'
import { resolvePath, type Guard, type Path } from './path.ts'
import type { PhpQuery } from './query.ts'
import type { Site } from './site.ts'
import { type Entity, valuesOf } from './store.ts'

type Predicate = (entity: Entity) => boolean

const operators = [
  '=',
  '<>',
  '>',
  '>=',
  '<',
  '<=',
  'STARTS_WITH',
  'CONTAINS',
  'ENDS_WITH',
  'IN',
  'NOT IN',
  'BETWEEN',
  'NOT BETWEEN',
  'IS NULL',
  'IS NOT NULL'
]

const root = '@root'

const foldAscii = (text: string) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())

/**
 * Compares as SQLite does: a column of numbers turns numeric text into a number and sorts every
 * other text above all numbers; a column of text ignores the case of ASCII letters only.
 */
function compare(numeric: boolean, storedValue: unknown, operand: string): number {
  const value = typeof storedValue === 'boolean' ? Number(storedValue) : storedValue
  if (numeric) {
    if (operand.trim() === '' || Number.isNaN(Number(operand))) return -1
    return Number(value) - Number(operand)
  }
  const [left, right] = [foldAscii(String(value)), foldAscii(operand)]
  return left < right ? -1 : left > right ? 1 : 0
}

function test(path: Path, operator: string, operands: string[]): (stored: unknown) => boolean {
  const [first = '', second = ''] = operands
  const order = (stored: unknown, operand: string) => compare(path.numeric, stored, operand)
  const text = (stored: unknown) => foldAscii(String(stored))
  switch (operator) {
    case '=':
      return (stored) => order(stored, first) === 0
    case '<>':
      return (stored) => order(stored, first) !== 0
    case '>':
      return (stored) => order(stored, first) > 0
    case '>=':
      return (stored) => order(stored, first) >= 0
    case '<':
      return (stored) => order(stored, first) < 0
    case '<=':
      return (stored) => order(stored, first) <= 0
    case 'STARTS_WITH':
      return (stored) => text(stored).startsWith(foldAscii(first))
    case 'ENDS_WITH':
      return (stored) => text(stored).endsWith(foldAscii(first))
    case 'CONTAINS':
      return (stored) => text(stored).includes(foldAscii(first))
    case 'IN':
      return (stored) => operands.some((one) => order(stored, one) === 0)
    case 'NOT IN':
      return (stored) => !operands.some((one) => order(stored, one) === 0)
    case 'BETWEEN':
      return (stored) => order(stored, first) >= 0 && order(stored, second) <= 0
    default:
      return (stored) => !(order(stored, first) >= 0 && order(stored, second) <= 0)
  }
}

function condition(path: Path, operator: string, value: string | PhpQuery | undefined): Predicate {
  const storedIn = (entity: Entity) =>
    path.values(entity).filter((one) => one !== null && one !== undefined)
  if (operator === 'IS NULL') return (entity) => storedIn(entity).length === 0
  if (operator === 'IS NOT NULL') return (entity) => storedIn(entity).length > 0
  if (value === undefined) return () => false
  const operands = typeof value === 'string' ? [value] : Object.values(value).map(String)
  const matches = test(path, operator, operands)
  return (entity) => storedIn(entity).some(matches)
}

function checkKeys(query: PhpQuery): string {
  const { path, operator, value } = query
  if (path === undefined || (operator === undefined && value === undefined)) {
    if (operator === undefined) {
      throw new CmsError(
        400,
        `Filter parameter is missing a '${path === undefined ? 'path' : 'value'}' key.`
      )
    }
    throw new CmsError(
      400,
      'You must provide a valid filter condition. Check that you have set the required keys for your filter.'
    )
  }
  const name = operator === undefined ? '=' : String(operator)
  if (!operators.includes(name)) {
    throw new CmsError(400, `The '${name}' operator is not allowed in a filter parameter.`)
  }
  if (name.startsWith('IS ') && value !== undefined) {
    throw new CmsError(400, `Filters using the '${name}' operator should not provide a value.`)
  }
  return name
}

/**
 * Who may find which rows through a filter, by entity type (jsonapi's TemporaryQueryGuard and the
 * core hooks). A row is found by any of its translations, shown or not.
 */
export function filterGuard(site: Site, viewer: Viewer): Guard {
  const isPublished = (entity: Entity) => valuesOf(entity, 'status').includes(true)
  const isOwn = (entity: Entity) => viewer.uid !== 0 && valuesOf(entity, 'uid').includes(viewer.uid)
  const mayFilter = (entity: Entity) => {
    const { filterAccess } = site.settings
    return (
      filterAccess === true ||
      (filterAccess !== false && isPublished(entity)) ||
      (filterAccess === 'own' && isOwn(entity))
    )
  }
  return (entity) => {
    const definition = entityTypes[entity.entityType]
    if (!definition || can(viewer, definition.adminPermission)) return true
    switch (entity.entityType) {
      case 'publisher_container':
        if (!mayFilter(entity)) return false
        return (
          can(viewer, 'view unpublished publisher_container') ||
          (can(viewer, 'view published publisher_container') && isPublished(entity))
        )
      case 'node':
        return (
          can(viewer, 'bypass node access') ||
          (can(viewer, 'access content') && isPublished(entity)) ||
          (can(viewer, 'view own unpublished content') && isOwn(entity))
        )
      case 'user':
        return (
          entity.id === viewer.uid || (can(viewer, 'access user profiles') && isPublished(entity))
        )
      default:
        return can(viewer, 'access content')
    }
  }
}

/** What SQLite says of a group without conditions; Drupal hands its words on, query and all. */
const sql = (table: string, bundle: string) =>
  'SQLSTATE[HY000]: General error: 1 near ")": syntax error: SELECT "base_table"."revision_id" ' +
  `AS "revision_id", "base_table"."id" AS "id"\nFROM\n"${table}" "base_table"\nINNER JOIN "${table}_field_data" "${table}_field_data" ` +
  `ON "${table}_field_data"."id" = "base_table"."id"\nWHERE () AND ("${table}_field_data"."type" = :db_condition_placeholder_0)\n` +
  'GROUP BY "base_table"."revision_id", "base_table"."id"\nLIMIT 51 OFFSET 0; Array\n(\n' +
  `    [:db_condition_placeholder_0] => ${bundle}\n)\n`

/**
 * The rows a `filter` parameter keeps, for that viewer. Shorthand, conditions and nested groups are
 * understood; a membership in a group that nobody defined fails in the database with 500, as it
 * does for real.
 */
export function parseFilter(
  site: Site,
  viewer: Viewer,
  entityType: string,
  bundle: string,
  filter: string | PhpQuery | undefined
): Predicate {
  if (filter === undefined) return () => true
  if (typeof filter === 'string') {
    throw new CmsError(
      400,
      'Unexpected value for parameter "filter": expecting "array", got "string".'
    )
  }
  const guard = filterGuard(site, viewer)
  const groups = new Map([[root, { conjunction: 'AND', parent: '', members: [] as Predicate[] }]])
  const members: { group: string; predicate: Predicate }[] = []
  for (const [key, item] of Object.entries(filter)) {
    if (key === root) throw new CmsError(400, `'${root}' is a reserved filter id.`)
    const filterItem = typeof item === 'string' ? { value: item } : item
    if (typeof filterItem.group === 'object') {
      groups.set(key, {
        conjunction: String(filterItem.group.conjunction ?? 'AND'),
        parent: String(filterItem.group.memberOf ?? root),
        members: []
      })
      continue
    }
    const criterion =
      typeof filterItem.condition === 'object' ? filterItem.condition : { path: key, ...filterItem }
    const operator = checkKeys(criterion)
    const path = resolvePath(site, viewer, entityType, String(criterion.path), guard)
    members.push({
      group: String(criterion.memberOf ?? root),
      predicate: condition(path, operator, criterion.value)
    })
  }
  for (const { group, predicate } of members) {
    const owner = groups.get(group)
    if (!owner) throw new CmsError(500, sql(entityType, bundle))
    owner.members.push(predicate)
  }
  const combine = (name: string): Predicate => {
    const { conjunction, members: own } = groups.get(name)!
    const children = [...groups]
      .filter(([, one]) => one.parent === name)
      .map(([child]) => combine(child))
    const all = [...own, ...children]
    return conjunction === 'OR'
      ? (entity) => all.some((one) => one(entity))
      : (entity) => all.every((one) => one(entity))
  }
  const passes = combine(root)
  return (entity) => guard(entity) && passes(entity)
}
