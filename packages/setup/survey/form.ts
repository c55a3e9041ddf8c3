import { isObject, scalarText, type Resource } from '../../../lib/drupal/document.ts'
import type { RowList } from './ask.ts'
import { hidden, shown, type Member } from './member.ts'

/** The longest texts that a content model takes. */
const LABEL = 255
const DESCRIPTION = 2000

/** What a survey has read of the form of editions. */
export interface FormSurvey {
  entityType: string
  /** The bundles that are editions. */
  bundles: string[]
  /** The configuration of fields (`field_config`). */
  fields: RowList
  /** The forms (`entity_form_display`). */
  displays: RowList
}

/** What of a field stands in the content model. */
interface FormField {
  label?: string
  description?: string
  required?: boolean
  group?: string
}

/**
 * What Drupal's form says of each field: label, help text, whether it is required, its group; in
 * the order of the form. Of a field of several bundles the first one counts.
 */
export function formMember({ entityType, bundles, fields, displays }: FormSurvey): Member {
  const permission = `the permission '${fields.permission ?? `administer ${entityType} fields`}'`
  const ownFields = ofEditions(fields.rows, 'entity_type', entityType, bundles)
  if (ownFields.length === 0) {
    return hidden('fieldConfig', `${permission} would show labels, help texts and required marks`)
  }
  const forms = ofEditions(displays.rows, 'targetEntityType', entityType, bundles).filter(
    ({ mode }) => mode === 'default'
  )
  const places = new Map(forms.toReversed().flatMap(placesIn))
  const entries = ownFields
    .toReversed()
    .map((field): [string, FormField] => [
      scalarText(field.field_name),
      formField(field, places.get(scalarText(field.field_name))?.group)
    ])
  const order = (name: string) => places.get(name)?.weight ?? Infinity
  const value = [...new Map(entries)].toSorted(([one], [other]) =>
    compare(order(one), order(other))
  )
  return shown(
    'fieldConfig',
    Object.fromEntries(value),
    forms.length > 0
      ? 'the configuration of fields shows them, in the order of the form'
      : `the configuration of fields shows them; the permission '${displays.permission ?? `administer ${entityType} form display`}' would show their order and groups`
  )
}

type Attributes = NonNullable<Resource['attributes']>

/** The configuration of editions, in the order of their bundles. */
function ofEditions(
  rows: Resource[],
  typeName: string,
  entityType: string,
  bundles: string[]
): Attributes[] {
  const own = rows
    .map(({ attributes = {} }) => attributes)
    .filter((attributes) => attributes[typeName] === entityType)
  return bundles.flatMap((bundle) => own.filter((attributes) => attributes.bundle === bundle))
}

interface Place {
  weight: number
  group: string | undefined
}

/**
 * Where each field of a form stands. A field in a group (module field_group) stands where the group
 * does, by its own weight within it.
 */
function placesIn({ content, third_party_settings: settings }: Attributes): Array<[string, Place]> {
  const groups = isObject(settings) && isObject(settings.field_group) ? settings.field_group : {}
  return Object.entries(isObject(content) ? content : {}).map(([name, place]) => {
    const weight = weightOf(place)
    const group = Object.values(groups)
      .filter(isObject)
      .find(({ children }) => Array.isArray(children) && children.includes(name))
    if (!group) return [name, { weight, group: undefined }]
    const label = scalarText(group.label)
    return [name, { weight: weightOf(group) + weight / 1000, group: label || undefined }]
  })
}

function weightOf(place: unknown): number {
  return isObject(place) && typeof place.weight === 'number' ? place.weight : 0
}

function formField(
  { label, description, required }: Attributes,
  group: string | undefined
): FormField {
  return {
    ...(isShort(label, LABEL) && { label }),
    ...(isShort(description, DESCRIPTION) && { description }),
    ...(required === true && { required }),
    ...(isShort(group, LABEL) && { group })
  }
}

function isShort(text: unknown, most: number): text is string {
  return typeof text === 'string' && text !== '' && text.length <= most
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one - other
}
