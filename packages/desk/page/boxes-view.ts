import { html, noChange, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import type { Shape } from './fields.ts'
import { say } from './texts.ts'

/** Values by `<input type>`. */
const INPUTS: Partial<Record<Shape['kind'], string>> = {
  number: 'number',
  date: 'date',
  moment: 'datetime-local',
  link: 'url'
}

export interface Boxes {
  id: string
  shape: Shape
  text: string
  language?: string | undefined
  isInvalid: boolean
  isLocked?: boolean
  isRequired?: boolean
  /**
   * Whether a browser cannot read the content of the boxes as a value. The content stays as it is
   * typed.
   */
  isUnreadable?: boolean
  /** The ids of the elements that describe them. */
  describedBy: string
  /** Called with the text of all boxes together, and whether a browser can read all of it. */
  type: (text: string, isWhole: boolean) => void
  focus?: () => void
  onLeave?: () => void
}

/** The box of a value of one line; a range has one for each end. */
export function boxesView({
  id,
  shape: { kind, label, isRange },
  text,
  language,
  isInvalid,
  isLocked = false,
  isRequired = false,
  isUnreadable = false,
  describedBy,
  type,
  focus,
  onLeave
}: Boxes): TemplateResult {
  const on = ({ currentTarget }: Event) => {
    const boxes = isRange
      ? [...(currentTarget as Element).parentElement!.querySelectorAll('input')]
      : [currentTarget as HTMLInputElement]
    const values = boxes.map(({ value }) => value)
    // A browser gives an empty value for content that it cannot read.
    type(
      values.every((value) => value === '') ? '' : values.join('/'),
      !boxes.some(({ validity }) => validity.badInput)
    )
  }
  const blur = (event: Event) => {
    // Half a date and no date have the same value, so a browser fires no event between them.
    if ((event.target as HTMLInputElement).validity.badInput !== isUnreadable) on(event)
    onLeave?.()
  }
  const box = (
    id: string,
    value: string,
    name?: string
  ) => html`<input id=${id} type=${INPUTS[kind] ?? 'text'} dir="auto" lang=${language ?? nothing} step=${kind === 'moment' ? '1' : 'any'} autocomplete="off" .value=${isUnreadable ? noChange : live(value)} ?readonly=${isLocked} aria-label=${name ?? nothing} aria-required=${isRequired ? 'true' : nothing} aria-invalid=${isInvalid ? 'true' : 'false'} aria-describedby=${describedBy}
    @focus=${focus} @blur=${blur} @input=${on}>`
  if (!isRange) return box(id, text)
  const [from = '', to = ''] = text.split('/')
  return html`<div class="range">${box(id, from, say('rangeFrom', { label }))}<span>–</span>${box(`${id}-end`, to, say('rangeTo', { label }))}</div>`
}
