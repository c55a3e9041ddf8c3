import type { Client, EditionBody, Named, QuoinError } from '../../client/src/client.ts'
import { fieldOf } from './closing.ts'
import { isSameText, type DraftStorage, type EditorDraft, type Place } from './draft-storage.ts'
import { failureOf } from './failures.ts'
import { itemsOf, labelOf, shapesOf, textOf, type Shape } from './fields.ts'
import { createLabels, type Labels } from './labels.ts'
import { nextKey, nextMoment, nextTitle, slugOf } from './next.ts'
import { forbiddenField, refusalOf } from './refusal.ts'
import type { Samples } from './samples.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'
import { sayHere } from './texts-maker.ts'
import { say } from './texts.ts'

/** How many of the newest editions are looked at for one to propose from. */
const LOOKED_AT = 20

/** How often an edition is sent, each time without what Drupal has refused. */
const TRIES = 10

/** How much of what a copy lacks is named. */
const NAMED = 10

/**
 * The name of the form's texts in the browser's storage; those of an edition have its type and id.
 */
const NEW = 'new'

/** What the form asks for: a text, and what the CMS has said of it. */
export interface FormInput {
  shape: Shape
  text: string
  problems: string[]
}

/** A field that could not be copied, or one item of it. */
interface LeftOut {
  name: string
  item: Item | undefined
}

export interface MakerDeps {
  editions: Pick<Client['editions'], 'create' | 'search' | 'read' | 'bundles'>
  model: Model
  samples: Samples
  storage: DraftStorage
  onChange: () => void
  announce: (text: string) => void
  /** The labels of what an edition refers to, by uuid. */
  labelsOf: (id: string) => Promise<Labels>
  /**
   * Goes to the edition that was made.
   * @param lack what it lacks of the edition that it is a copy of, in a sentence
   */
  onMake: (id: string, lack?: string) => void
}

export type Maker = ReturnType<typeof createMaker>

/** Whether an item refers to what has been deleted. */
const isGone = ({ target_id: id }: Item) => id === null

/** The references of an edition to what has been deleted, which Drupal drops without a word. */
function goneFrom(edition: Edition): LeftOut[] {
  return Object.entries(edition).flatMap(([name, items = []]) =>
    items.filter(isGone).map((item) => ({ name, item }))
  )
}

/**
 * The form of a new edition. It proposes values a day after those of an earlier edition.
 * @param from the id of the edition to duplicate, `latest` for the newest; without it nothing is
 *   copied, and the newest gives the proposals
 */
export function createMaker(
  { editions, model, samples, storage, labelsOf, onChange, announce, onMake }: MakerDeps,
  from?: string
) {
  const { keys, fields } = model
  let bundles: Named[] = []
  let bundle = ''
  let before: Edition | undefined
  let inputs: FormInput[] = []
  let isCopy = from !== undefined
  let isReading = true
  let isMaking = false
  let failure: QuoinError | undefined
  let reason: string | undefined
  /** What could not be copied. */
  let leftOut: LeftOut[] = []
  /** The names of fields that the editor has written into, which no proposal replaces. */
  const edits = new Set<string>()
  const mirrors = new Map<string, ReturnType<DraftStorage['mirror']>>()

  /**
   * Keeps a text of this window in the browser; an empty one is not kept.
   * @returns where it is
   */
  function keep(name: string, text: string): Place {
    const mirror = mirrors.get(name) ?? storage.mirror(NEW, name, onChange)
    mirrors.set(name, mirror)
    return mirror(text === '' ? undefined : { payload: text })
  }

  /** Where a text is that the editor has written; what is proposed need not be kept. */
  function placeOf({ shape: { name }, text }: FormInput): Place {
    return edits.has(name) && text !== '' ? keep(name, text) : 'disk'
  }

  /** The browser keeps none of the texts of this window any more. */
  function forget(): void {
    for (const name of edits) keep(name, '')
    edits.clear()
  }

  /** The newest edition of those with a date, else the newest of all. */
  function latest(candidates: Edition[]): Edition | undefined {
    const hasDate = (edition: Edition) =>
      shapesOf(edition, model).some(({ kind }) => kind === 'date')
    return (
      candidates.find((edition) => nextKey(valueOf(edition, fields.key)) !== undefined) ??
      candidates.find(hasDate) ??
      candidates[0]
    )
  }

  async function newest(of: string): Promise<Edition | undefined> {
    const { value } = await editions
      .search({ ...(of !== '' && { bundle: of }), limit: LOOKED_AT })
      .next()
    return latest(value!.editions as Edition[])
  }

  async function load(): Promise<void> {
    isReading = true
    onChange()
    try {
      if (keys.bundle !== null && bundles.length === 0) bundles = await editions.bundles()
      before =
        from !== undefined && from !== 'latest'
          ? ((await editions.read(from)).edition as Edition)
          : await newest(bundle)
      bundle = (before && valueOf(before, keys.bundle)) || bundle || bundles[0]?.id || ''
      if (before) await samples.learn(valueOf(before, keys.id), before)
      propose()
      failure = undefined
    } catch (error) {
      failure = failureOf(error)
    }
    isReading = false
    onChange()
  }

  /** Asks for what every edition has: the label, the key, the edition type and the dates. */
  function propose(): void {
    const values = before ?? {}
    const names = [keys.label, fields.key, fields.editionType].filter((name) => name !== null)
    const edition = { ...Object.fromEntries(names.map((name) => [name, []])), ...values }
    const shapes = shapesOf(edition, model, samples.of).filter(
      ({ name, kind }) => names.includes(name) || kind === 'date'
    )
    const ownInputs = inputs.filter(({ shape }) => edits.has(shape.name))
    const proposals = shapes.map((shape) => {
      const own = ownInputs.find((input) => input.shape.name === shape.name)
      return {
        shape,
        text: own?.text ?? proposalFor(shape, values[shape.name] ?? []),
        problems: []
      }
    })
    inputs = [
      ...proposals,
      ...ownInputs.filter((input) => !shapes.some(({ name }) => name === input.shape.name))
    ]
  }

  function proposalFor(shape: Shape, items: Item[]): string {
    const text = textOf(shape, items)
    const key = valueOf(before ?? {}, fields.key)
    if (shape.name === keys.label) return nextTitle(text, key) ?? (isCopy ? text : '')
    if (shape.name === fields.key) return nextKey(text) ?? ''
    return shape.kind === 'date' ? nextMoment(text) : text
  }

  /** The fields of the earlier edition that the form does not ask for, a day later. */
  function copyOfBefore(): Record<string, Item[]> {
    const shapes = shapesOf(before!, model).filter(
      ({ name }) =>
        name !== fieldOf(model) &&
        name !== keys.published &&
        !inputs.some(({ shape }) => shape.name === name)
    )
    return Object.fromEntries(
      shapes.flatMap((shape) => {
        const items = (before![shape.name] ?? [])
          .filter((item) => !isGone(item))
          .map(({ processed: _1, summary_processed: _2, url: _3, ...item }) => item)
        // At the same hour, also where the clocks are changed in between.
        return items.length === 0
          ? []
          : [
              [
                shape.name,
                shape.kind === 'moment'
                  ? (itemsOf(shape, nextMoment(textOf(shape, items)), items) as Item[])
                  : items
              ]
            ]
      })
    )
  }

  async function make(): Promise<void> {
    if (isMaking) return
    const empty = inputs.filter(
      ({ shape, text }) =>
        [keys.label, fields.key, fields.editionType].includes(shape.name) && text.trim() === ''
    )
    for (const one of inputs) one.problems = empty.includes(one) ? [sayHere('isNeeded')] : []
    reason =
      empty.length > 0
        ? sayHere('notMadeNeeded', {
            count: empty.length,
            labels: empty.map(({ shape }) => shape.label).join(', ')
          })
        : undefined
    if (reason !== undefined) return tell()
    isMaking = true
    leftOut = isCopy && before ? goneFrom(before) : []
    onChange()
    try {
      const own = Object.fromEntries(
        inputs
          .filter(({ text }) => text !== '')
          .map(({ shape, text }) => [
            shape.name,
            itemsOf(shape, text, before?.[shape.name]?.slice(0, 1) ?? [])
          ])
      )
      const ofBundle =
        keys.bundle === 'type'
          ? {}
          : {
              type: undefined,
              ...(keys.bundle !== null && { [keys.bundle]: [{ target_id: bundle }] })
            }
      const isDraft =
        fieldOf(model) === keys.published && keys.published !== null && model.closing.value === true
      const edition = await create({
        ...ofBundle,
        ...(isDraft && { [keys.published!]: [{ value: false }] }),
        ...(isCopy && before ? copyOfBefore() : {}),
        ...own
      })
      forget()
      storage.drop(isInForm, NEW)
      const lack = await lackOf(leftOut)
      announce([sayHere('made'), lack].filter(Boolean).join('. '))
      return onMake(valueOf(edition, keys.id), lack)
    } catch (error) {
      refuse(failureOf(error))
    }
    isMaking = false
    tell()
  }

  /**
   * Creates an edition. Copied values that Drupal refuses of this user are left out, such as an
   * article that they may not see.
   */
  async function create(body: EditionBody, tries = 1): Promise<Edition> {
    try {
      return (await editions.create(bundle, body)).edition as Edition
    } catch (error) {
      const rest = tries < TRIES ? without(body, failureOf(error)) : undefined
      if (!rest) throw error
      return create(rest, tries + 1)
    }
  }

  /** Says what a copy lacks: articles by their titles, anything else by its field. */
  async function lackOf(all: LeftOut[]): Promise<string | undefined> {
    if (all.length === 0) return undefined
    const labels = createLabels({ ask: () => labelsOf(valueOf(before!, keys.id)), onChange })
    const items = all.map(({ item }) => item).filter((item) => item !== undefined)
    // Without them articles have their numbers.
    await labels.load(items).catch(() => {})
    const names = all.map(({ name, item }) => {
      if (!item || !fields.articles.includes(name)) return labelOf(name, model)
      return isGone(item) ? sayHere('goneArticle') : labels.titleOf(item)
    })
    const others = names.length - NAMED
    return sayHere('lacks', {
      count: names.length,
      names: `${names.slice(0, NAMED).join('; ')}${others > 0 ? say('andOthers', { count: others }) : ''}`
    })
  }

  /**
   * The body without the copied fields and items that were refused; undefined where something else
   * was.
   */
  function without(body: EditionBody, error: QuoinError): EditionBody | undefined {
    const { violations = [] } = (error.body ?? {}) as { violations?: Array<{ path: string }> }
    const forbiddenName = forbiddenField(error)
    const paths =
      forbiddenName === undefined
        ? violations.map(({ path }) => path.split('.'))
        : [[forbiddenName]]
    const isCopied = (name = '') =>
      isCopy &&
      name in body &&
      before?.[name] !== undefined &&
      !inputs.some(({ shape }) => shape.name === name)
    if (paths.length === 0 || !paths.every(([name]) => isCopied(name))) return undefined
    const isRefused = (name: string, index: number) =>
      paths.some(([field, at]) => field === name && (at === undefined || at === String(index)))
    const rest = Object.entries(body).map(
      ([name, items]) =>
        [
          name,
          isCopied(name) ? (items as Item[]).filter((_, index) => !isRefused(name, index)) : items
        ] as const
    )
    leftOut.push(
      ...paths.map(([name = '', at]) => ({ name, item: (body[name] as Item[])[Number(at)] }))
    )
    return Object.fromEntries(
      rest.filter(([name, items]) => !isCopied(name) || (items as Item[]).length > 0)
    )
  }

  /**
   * Puts what the CMS says at its field; a field that is wrong and not in the form comes into it.
   */
  function refuse(error: QuoinError): void {
    const { violations = [] } = (error.body ?? {}) as { violations?: Array<{ path: string }> }
    const names = violations.map(({ path }) => path.split('.')[0]!).filter((name) => name !== '')
    for (const name of new Set(names)) inputFor(name)
    const labels = new Map(inputs.map(({ shape: { name } }) => [name, labelOf(name, model)]))
    const refusal = refusalOf(error, labels, { undecided: [], isAtRisk: true, isNew: true })
    for (const one of inputs) one.problems = refusal.fields.get(one.shape.name) ?? []
    reason = refusal.text
  }

  /** The input of a field, which comes into the form if it can be edited there. */
  function inputFor(name: string): FormInput | undefined {
    const input = inputs.find(({ shape }) => shape.name === name)
    const [shape] = input ? [] : shapesOf({ [name]: [] }, model, samples.of)
    if (shape && shape.kind !== 'fixed' && shape.kind !== 'order') {
      inputs.push({ shape, text: '', problems: [] })
    }
    return input ?? inputs.find((input) => input.shape === shape)
  }

  const isInForm = ({ fieldName, payload }: EditorDraft) =>
    inputs.some(({ shape, text }) => shape.name === fieldName && text === payload)

  function type(input: FormInput, text: string): void {
    const { name } = input.shape
    input.text = text
    edits.add(name)
    keep(name, text)
    const key = inputs.find(({ shape }) => shape.name === fields.key)
    // Without an earlier key the key is made of the title.
    if (
      name === keys.label &&
      key &&
      !edits.has(key.shape.name) &&
      nextKey(valueOf(before ?? {}, fields.key)) === undefined
    ) {
      key.text = slugOf(text)
    }
    onChange()
  }

  function tell(): void {
    if (reason !== undefined) announce(reason)
    onChange()
  }

  load()
  return {
    get bundles() {
      return bundles
    },
    get bundle() {
      return bundle
    },
    /** The edition to propose from, or to duplicate. */
    get before() {
      return before
    },
    get inputs() {
      return inputs
    },
    get isCopy() {
      return isCopy
    },
    get isReading() {
      return isReading
    },
    get isMaking() {
      return isMaking
    },
    get failure() {
      return failure
    },
    get reason() {
      return reason
    },
    load,
    chooseBundle(id: string): void {
      bundle = id
      if (from === undefined || from === 'latest') load()
      onChange()
    },
    /** Copies the fields of the earlier edition, or none of them. */
    copy(isOn: boolean): void {
      isCopy = isOn
      propose()
      onChange()
    },
    type,
    /** What was typed into the form before, here or in another window, and is not in it now. */
    get drafts() {
      return storage.of(NEW).filter((draft) => !isInForm(draft))
    },
    labelOf: (name: string) => labelOf(name, model),
    /** Puts a kept text into the form. A typed text that stands there becomes a kept one. */
    restore(draft: EditorDraft): void {
      const { fieldName, payload } = draft
      const input = inputFor(fieldName)
      if (!input) return
      storage.drop((other) => isSameText(other, draft), NEW)
      if (edits.has(fieldName) && input.text !== '') {
        storage.put(NEW, { fieldName, payload: input.text })
      }
      type(input, payload)
      announce(say('textIsBack', { label: input.shape.label }))
    },
    discard(draft: EditorDraft): void {
      storage.drop((other) => isSameText(other, draft), NEW)
      onChange()
    },
    placeOf,
    /** Whether closing the page would lose a text: the browser has not taken it. */
    get isAtRisk() {
      return inputs.some((input) => !['disk', 'coming'].includes(placeOf(input)))
    },
    /** The reader goes elsewhere: what is typed is offered when the form is opened again. */
    leave(): void {
      const texts = inputs.filter(({ shape, text }) => edits.has(shape.name) && text !== '')
      forget()
      for (const { shape, text } of texts) {
        storage.put(NEW, { fieldName: shape.name, payload: text })
      }
    },
    make
  }
}
