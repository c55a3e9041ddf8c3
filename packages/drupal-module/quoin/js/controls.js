/* global Drupal */

/**
 * The controls of one field of an edit form: what they have, as one text and as a whole.
 *
 * A field's controls are those within its container. Their names are Drupal's: `title[0][value]`,
 * `field_place`, `field_topics[home]`, `field_stories[3][target_id]`.
 */

/** How many rows a table of values is made longer by, at most. */
const ROWS = 100

/** How long Drupal may take for one more row, in milliseconds. */
const ROW_MS = 10_000

/** What an editor of formatted texts had at first: the text of its text box, and its own version. */
const editors = new WeakMap()

/** The controls whose values a form sends. */
export function controlsIn(container) {
  return [...container.querySelectorAll('input, select, textarea')].filter(
    ({ name, type }) => name !== '' && !['submit', 'button', 'image', 'reset'].includes(type)
  )
}

/** The editor of core (CKEditor 5) that stands for a text box, once it is there. */
export function editorOf(control) {
  return Drupal.CKEditor5Instances?.get(control.getAttribute('data-ckeditor5-id'))
}

/**
 * Notes the text that an editor has at first. It spells some markup otherwise than what is saved:
 * that is no change.
 */
export function meetEditor(control) {
  const editor = editorOf(control)
  if (editor && !editors.has(editor)) {
    editors.set(editor, { source: control.value, data: editor.getData() })
    return editor
  }
}

/** What a control has: a text, or nothing for a box that is not checked. */
function valueOf(control) {
  if (control.type === 'checkbox' || control.type === 'radio') {
    return control.checked ? control.value : ''
  }
  if (control.multiple && control.options) {
    return [...control.selectedOptions].map(({ value }) => value).join('\n')
  }
  const editor = editorOf(control)
  if (!editor) return control.value === '_none' ? '' : control.value
  meetEditor(control)
  const { source, data } = editors.get(editor)
  const now = editor.getData()
  return now === data ? source : now
}

function setValue(control, value) {
  const editor = editorOf(control)
  if (editor) {
    meetEditor(control)
    const { source, data } = editors.get(editor)
    return editor.setData(value === source ? data : value)
  }
  if (control.type === 'checkbox' || control.type === 'radio') {
    control.checked = value === control.value
  } else if (control.multiple && control.options) {
    const values = value.split('\n')
    for (const option of control.options) option.selected = values.includes(option.value)
  } else if (control.type === 'file') {
    control.value = ''
    return
  } else {
    control.value = value === '' && control.tagName === 'SELECT' ? emptyOf(control) : value
  }
  control.dispatchEvent(new Event('input', { bubbles: true }))
  control.dispatchEvent(new Event('change', { bubbles: true }))
}

/** The value of the option that stands for none. */
function emptyOf(select) {
  return [...select.options].find(({ value }) => value === '_none' || value === '')?.value ?? ''
}

/**
 * The rows of a field: what its controls have, by the rest of their names, in the order of the
 * weights. Rows in which nothing stands are left out.
 */
function rowsIn(container, name) {
  const rows = new Map()
  const ofRow = new RegExp(`^${name}(?:\\[selection\\])?\\[(\\d+)\\](.*)$`)
  for (const control of controlsIn(container)) {
    const [, delta = '', rest = control.name] = ofRow.exec(control.name) ?? []
    const row = rows.get(delta) ?? { delta, weight: Number(delta), controls: new Map() }
    rows.set(delta, row)
    if (rest === '[_weight]') row.weight = Number(control.value)
    else if (control.type !== 'radio' || control.checked) row.controls.set(rest, control)
  }
  return [...rows.values()].sort((one, other) => one.weight - other.weight)
}

/** The format of a text is no value of its own. */
const isValue = ([rest, value]) => value !== '' && !rest.endsWith('[format]')

/** All that a field has, for comparison. */
export function printOf(container, name) {
  const rows = rowsIn(container, name).map(({ controls }) =>
    [...controls].map(([rest, control]) => [rest, valueOf(control)])
  )
  return JSON.stringify(rows.filter((row) => row.some(isValue)))
}

/** Every control's value by its name and, of boxes, its own value. */
export function snapshotOf(container) {
  return new Map(controlsIn(container).map((control) => [keyOf(control), valueOf(control)]))
}

/** Puts the values back. A control that was not there is emptied. */
export function restoreSnapshot(container, snapshot) {
  for (const control of controlsIn(container)) {
    const value =
      snapshot.get(keyOf(control)) ?? (control.name.endsWith('[_weight]') ? undefined : '')
    if (value !== undefined && value !== valueOf(control)) setValue(control, value)
  }
}

function keyOf({ name, type, value }) {
  return type === 'checkbox' || type === 'radio' ? `${name}=${value}` : name
}

/**
 * A field's text as the desk writes it into a lock.
 * @returns undefined where these controls are not one text
 */
export function textOf(container, name, kind) {
  const one = (...rests) => {
    const [{ controls } = {}] = rowsIn(container, name)
    const control = rests.map((rest) => controls?.get(rest)).find(Boolean)
    return control && valueOf(control)
  }
  switch (kind) {
    case 'value':
      return one('[value]', '[state]') ?? choicesIn(container, name)?.[0]
    case 'text':
      return one('[value]')
    case 'flag': {
      const [value] = choicesIn(container, name) ?? [undefined]
      return value === undefined ? undefined : String(value === '1')
    }
    case 'date':
      return one('[value][date]')
    case 'datetime':
      return momentOf(one('[value][date]'), one('[value][time]'))
    case 'link':
      return uriOf(one('[uri]'))
    case 'lines':
      return valuesIn(container, name, '[value]')?.join('\n')
    case 'references':
      return referencesIn(container, name)
    default:
      return undefined
  }
}

/**
 * What is chosen of a select, of radio buttons or of check boxes.
 * @returns undefined where there is none of them
 */
function choicesIn(container, name) {
  const controls = controlsIn(container).filter(
    (control) =>
      (control.name === name || control.name.startsWith(`${name}[`)) &&
      (control.type === 'checkbox' || control.type === 'radio' || control.options)
  )
  if (controls.length === 0) return undefined
  const values = controls.flatMap((control) => valueOf(control).split('\n'))
  const chosen = values.filter((value) => value !== '')
  return chosen.length === 0 ? [''] : chosen
}

/** The values of a table, or what is chosen. */
function valuesIn(container, name, rest) {
  const rows = rowsIn(container, name).filter(({ controls }) => controls.has(rest))
  if (rows.length === 0) return choicesIn(container, name)?.filter((value) => value !== '')
  return rows.map(({ controls }) => valueOf(controls.get(rest))).filter((value) => value !== '')
}

/** A moment as the desk has it, with seconds. */
function momentOf(date, time) {
  if (date === undefined || time === undefined) return undefined
  if (date === '' && time === '') return ''
  return `${date}T${time.length === 5 ? `${time}:00` : time}`
}

/**
 * The address that Drupal makes of what one types.
 * Source: LinkWidget::getUserEnteredStringAsUri().
 */
function uriOf(typed) {
  if (typed === undefined) return undefined
  const text = typed.trim()
  const [, id] = /\s\((\d+)\)$/.exec(text) ?? []
  if (id !== undefined) return `entity:node/${id}`
  if (text === '<nolink>' || text === '<none>' || text === '<button>') return `route:${text}`
  if (text === '' || /^[a-z][\w+.-]*:/i.test(text)) return text
  return `internal:${text.replace(/^<front>/, '/')}`
}

/** What stands in the control of a link for its address. */
function typedOf(uri) {
  return uri.startsWith('internal:') ? uri.slice('internal:'.length) : uri.replace(/^route:/, '')
}

/**
 * The ids of a reference field, with one blank between them; the second of the same is `4#2`.
 * Undefined where something stands that is no reference yet.
 */
function referencesIn(container, name) {
  const tags = controlsIn(container).find((control) => control.name === `${name}[target_id]`)
  const values = tags ? entriesOf(tags.value) : valuesIn(container, name, '[target_id]')
  const ids = values?.map((value) => /\(([^()]+)\)"?$/.exec(value)?.[1] ?? /^\d+$/.exec(value)?.[0])
  if (!ids || ids.includes(undefined)) return undefined
  const counts = new Map()
  return ids
    .map((id) => {
      const count = (counts.get(id) ?? 0) + 1
      counts.set(id, count)
      return count === 1 ? id : `${id}#${count}`
    })
    .join(' ')
}

/** What stands between the commas. Source: Drupal\Component\Utility\Tags::explode(). */
function entriesOf(typed) {
  return (typed.match(/"(?:[^"]|"")*"|[^,]+/g) ?? [])
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

/**
 * Puts a text that a lock had into the controls.
 * @returns whether they have it now
 */
export async function writeText(find, name, kind, text) {
  const set = (rest, value) => {
    const control = controlsIn(find()).find((control) => control.name === name + rest)
    if (control) setValue(control, value)
  }
  switch (kind) {
    case 'date':
      set('[0][value][date]', text)
      break
    case 'datetime': {
      const [date, time = ''] = text.split('T')
      set('[0][value][date]', date)
      set('[0][value][time]', time)
      break
    }
    case 'link':
      set('[0][uri]', typedOf(text))
      break
    case 'flag':
      choose(find(), name, [text === 'true' ? '1' : '0'])
      break
    case 'lines':
      await writeValues(find, name, '[value]', text === '' ? [] : text.split('\n'))
      break
    case 'references':
      await writeReferences(find, name, text === '' ? [] : text.split(' '))
      break
    default:
      set('[0][value]', text)
      set('[0][state]', text)
      choose(find(), name, [text])
  }
  return textOf(find(), name, kind) === text
}

function choose(container, name, values) {
  for (const control of controlsIn(container)) {
    const isOne = control.name === name || control.name.startsWith(`${name}[`)
    if (!isOne) continue
    if (control.type === 'checkbox' || control.type === 'radio') {
      setValue(control, values.includes(control.value) ? control.value : '')
    } else if (control.options && !/\[(?:_weight|format)\]$/.test(control.name)) {
      setValue(control, values.join('\n'))
    }
  }
}

async function writeReferences(find, name, tokens) {
  const container = find()
  const ids = tokens.map((token) => token.replace(/#\d+$/, ''))
  const labels = new Map(
    controlsIn(container)
      .flatMap((control) => entriesOf(control.value))
      .map((entry) => [/\(([^()]+)\)"?$/.exec(entry)?.[1], entry])
  )
  // Drupal reads the id out of the parentheses, and wants some text before them.
  const entries = ids.map((id) => labels.get(id) ?? `${id} (${id})`)
  const tags = controlsIn(container).find((control) => control.name === `${name}[target_id]`)
  if (tags) return setValue(tags, entries.join(', '))
  const hasRows = rowsIn(container, name).some(({ controls }) => controls.has('[target_id]'))
  return hasRows ? writeValues(find, name, '[target_id]', entries) : choose(container, name, ids)
}

/** Writes values into the rows of a table, and has Drupal add rows where there are too few. */
async function writeValues(find, name, rest, values) {
  const rows = () => rowsIn(find(), name).filter(({ controls }) => controls.has(rest))
  if (rows().length === 0) return choose(find(), name, values)
  for (let added = 0; rows().length < values.length && added < ROWS; added++) {
    if (!(await addRow(find, () => rows().length))) break
  }
  rows().forEach(({ controls }, index) => setValue(controls.get(rest), values[index] ?? ''))
}

/** Presses "Add another item", and waits for the new row. @returns whether it came */
async function addRow(find, count) {
  const before = count()
  const button = find().querySelector('.field-add-more-submit')
  if (!button) return false
  // Drupal's AJAX listens for the press (core/misc/ajax.js).
  button.dispatchEvent(new window.MouseEvent('mousedown', { bubbles: true, cancelable: true }))
  for (const deadline = Date.now() + ROW_MS; count() === before;) {
    if (Date.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return true
}
