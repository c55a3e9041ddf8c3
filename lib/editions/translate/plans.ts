import { isObject, type Resource } from '../../jsonapi/document.ts'
import { internalName, splitType, type ContentModel } from '../model.ts'
import type { EditionJson, Item } from './read.ts'

/** How the values of an attribute become items. */
export interface AttributePlan {
  field: string
  /** The property that a bare value is of. */
  main: string
  /** Whether a value is an item as it is. */
  raw: boolean
  timestamp: boolean
}

/** How resources of one type and with the same members are read: found out once, for a list has them by the thousand. */
export interface Plan {
  type: string
  attributes: AttributePlan[]
  /** Fields. */
  relationships: string[]
  /** An entity with all its fields, in order, none of which has a value yet: to be copied. */
  blank: EditionJson
  /** What the entity's bundle is known from when no member tells it. */
  bundle: Item | undefined
  /** Public names, which make out what the plan is for. */
  names: { attributes: string[], relationships: string[] }
}

/** Of how many kinds of resources the plans are kept; which fields there are depends on the bundle and on who asks. */
const KEPT = 16

const plans = new WeakMap<ContentModel, Plan[]>()

/** The plan for a resource like this one. */
export function planFor (resource: Resource, model: ContentModel): Plan {
  const { type, attributes, relationships } = resource
  const kept = plans.get(model) ?? []
  const known = kept.find((plan) => plan.type === type && areNames(plan.names.attributes, attributes) && areNames(plan.names.relationships, relationships))
  if (known) return known
  const plan = make(type, { attributes: namesIn(attributes), relationships: namesIn(relationships) }, model)
  plans.set(model, kept)
  kept.unshift(plan)
  if (kept.length > KEPT) kept.pop()
  return plan
}

/** Whether these are the names of all members, in their order; makes no list of them. */
function areNames (names: string[], members: object | undefined): boolean {
  let index = 0
  for (const name in members) if (name !== names[index++]) return false
  return index === names.length
}

function make (type: string, names: Plan['names'], model: ContentModel): Plan {
  const attributes = names.attributes.map((name) => internalName(model, name)).map((field): AttributePlan => ({
    field,
    main: model.mainProperty[field] ?? 'value',
    raw: model.rawFields.includes(field),
    timestamp: model.timestampFields.includes(field)
  }))
  const relationships = names.relationships.map((name) => internalName(model, name))
  const { uuid, bundle } = model.keys
  const fields = new Set([uuid, ...attributes.map(({ field }) => field), ...relationships])
  const isTold = fields.has(bundle)
  const members = [...fields.add(bundle)].map((field) => `${JSON.stringify(field)}:[]`)
  return {
    type,
    attributes,
    relationships,
    // Of an object that is put together member by member V8 makes a hash table, slow to fill and slow to write out.
    blank: JSON.parse(`{${members.join(',')}}`),
    bundle: isTold ? undefined : { target_id: splitType(model, type).bundle, target_type: model.bundleEntityType },
    names
  }
}

function namesIn (members: unknown): string[] {
  return isObject(members) ? Object.keys(members) : []
}
