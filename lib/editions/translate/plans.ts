import { isObject, type Resource } from '../../drupal/document.ts'
import { internalName, splitType, type ContentModel } from '../model.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'

/** How the values of an attribute become items. */
export interface AttributePlan {
  /** Its public name. */
  name: string
  field: string
  /** The property that a bare value is of. */
  main: string
  /** Whether a value is an item as it is. */
  raw: boolean
  timestamp: boolean
}

/**
 * How to read resources of one type with the same members. A list has them by the thousand, so it
 * is made once.
 */
export interface Plan {
  type: string
  attributes: AttributePlan[]
  /** Fields. */
  relationships: string[]
  /** A template to copy: an entity with all its fields in order, without values. */
  blank: EditionJson
  /** What the entity's bundle is known from when no member tells it. */
  bundle: FieldItem | undefined
  /** How many fields of time stamps were known. Quoin learns others (site/times.ts). */
  times: number
  /** Public names, which make out what the plan is for. */
  names: { attributes: string[]; relationships: string[] }
}

/** How many plans are kept. Which fields a resource has depends on its bundle and on who asks. */
const PLANS = 16

/** How many members all of them may be for. The newest is kept whatever it is for. */
const MEMBERS = 20_000

/** Gives the plan for a resource. */
export type Plans = (resource: Resource) => Plan

/** The plans of a site, each made once. */
export function createPlans(model: ContentModel): Plans {
  const plans: Plan[] = []

  return function planFor(resource) {
    const { type, attributes, relationships } = resource
    const last = plans.find(
      (plan) =>
        plan.type === type &&
        plan.times === model.timestampFields.length &&
        areNames(plan.names.attributes, attributes) &&
        areNames(plan.names.relationships, relationships)
    )
    if (last) return last
    const plan = planOf(resource, model)
    plans.unshift(plan)
    while (plans.length > PLANS || (plans.length > 1 && membersOf(plans) > MEMBERS)) plans.pop()
    return plan
  }
}

function membersOf(plans: Plan[]): number {
  return plans.reduce(
    (sum, { names }) => sum + names.attributes.length + names.relationships.length,
    0
  )
}

/** Whether these are the names of all members, in any order; makes no list of them. */
function areNames(names: string[], members: object | undefined): boolean {
  let count = 0
  let isInOrder = true
  for (const name in members) {
    if (count === names.length) return false
    if (name !== names[count++]) isInOrder = false
  }
  return (
    count === names.length && (isInOrder || names.every((name) => Object.hasOwn(members!, name)))
  )
}

/** The plan for resources with the type and the members of this one. */
export function planOf(
  { type, attributes: values, relationships: references }: Resource,
  model: ContentModel
): Plan {
  const names = { attributes: namesIn(values), relationships: namesIn(references) }
  const attributes = names.attributes.map((name): AttributePlan => {
    const field = internalName(model, name)
    return {
      name,
      field,
      main: model.mainProperty[field] ?? 'value',
      raw: model.rawFields.includes(field),
      timestamp: model.timestampFields.includes(field)
    }
  })
  const relationships = names.relationships.map((name) => internalName(model, name))
  const { uuid, bundle } = model.keys
  const fields = new Set([uuid, ...attributes.map(({ field }) => field), ...relationships])
  const hasBundle = bundle === null || fields.has(bundle)
  if (bundle !== null) fields.add(bundle)
  return {
    type,
    attributes,
    relationships,
    blank: Object.fromEntries([...fields].map((field) => [field, []])),
    bundle: hasBundle
      ? undefined
      : { target_id: splitType(model, type).bundle, target_type: model.bundleEntityType },
    times: model.timestampFields.length,
    names
  }
}

function namesIn(members: unknown): string[] {
  return isObject(members) ? Object.keys(members) : []
}
