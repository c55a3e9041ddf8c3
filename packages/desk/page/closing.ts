import { QuoinError, type Client, type Finding, type Readiness } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { reasonOf } from './reasons.ts'
import { valueOf, type Edition, type Model } from './settings.ts'
import { say } from './texts.ts'

/** How long to wait for more changes before readiness is asked again, in milliseconds. */
const SETTLE_MS = 500

/** What closes an edition, in words. */
export type ClosingWords = Record<
  'act' | 'actTitle' | 'actNow' | 'done' | 'back' | 'backTitle' | 'backNow' | 'undone',
  string
>

/**
 * What closing an edition is called; undefined where the content model has nothing that it sets.
 */
export function closingWords({
  closing,
  keys
}: Pick<Model, 'closing' | 'keys'>): ClosingWords | undefined {
  const field = fieldOf({ closing, keys })
  if (field === null) return undefined
  return field === keys.published
    ? {
        act: say('publish'),
        actTitle: say('publishTitle'),
        actNow: say('publishNow'),
        done: say('publishedNow'),
        back: say('unpublish'),
        backTitle: say('unpublishTitle'),
        backNow: say('unpublishNow'),
        undone: say('unpublished')
      }
    : {
        act: say('closeEdition'),
        actTitle: say('closeEditionTitle'),
        actNow: say('closeEditionNow'),
        done: say('closed'),
        back: say('reopen'),
        backTitle: say('reopenTitle'),
        backNow: say('reopenNow'),
        undone: say('reopened')
      }
}

/** The field that closing sets. */
export function fieldOf({ closing, keys }: Pick<Model, 'closing' | 'keys'>): string | null {
  return closing.field ?? keys.published
}

export interface ClosingDeps {
  editions: Pick<Client['editions'], 'readiness' | 'close' | 'update'>
  id: string
  model: Model
  /** What a finding says, in the reader's language. */
  wordsOf: (finding: Finding) => string
  /** The edition as it is known here, and its entity tag. */
  present: () => { edition: Edition; etag: string | undefined }
  /** Called with the edition that was saved, and the sentence that tells it. */
  onSave: (edition: Edition, etag: string | undefined, words: string) => void
  onChange: () => void
  announce: (text: string) => void
}

export type Closing = ReturnType<typeof createClosing>

/**
 * Closing an edition, by default publishing it: what speaks against it, the act, and the way back.
 */
export function createClosing({
  editions,
  id,
  model,
  wordsOf,
  present,
  onSave,
  onChange,
  announce
}: ClosingDeps) {
  const words = closingWords(model)
  const field = fieldOf(model)
  const { value } = model.closing
  let isOpen = false
  let isActing = false
  let readiness: Omit<Readiness, 'proposals'> | undefined
  let failure: QuoinError | undefined
  let settle: ReturnType<typeof setTimeout> | undefined
  let checks = 0

  const isDone = () => field !== null && valueOf(present().edition, field) === String(value)

  async function look(): Promise<void> {
    const nth = ++checks
    try {
      const answer = await editions.readiness(id)
      if (nth !== checks) return
      const isNews =
        answer.ready !== readiness?.ready || answer.blockers.length !== readiness.blockers.length
      readiness = answer
      failure = undefined
      if (isOpen && isNews) {
        announce(
          answer.ready
            ? answer.warnings.length > 0
              ? say('nothingInWayWarnings', { count: answer.warnings.length })
              : say('nothingInWaySaid')
            : say('thingsInWay', { count: answer.blockers.length })
        )
      }
    } catch (error) {
      if (nth !== checks) return
      failure = failureOf(error)
    }
    onChange()
  }

  async function act(run: () => Promise<void>): Promise<void> {
    if (isActing) return
    isActing = true
    failure = undefined
    onChange()
    try {
      await run()
      isOpen = false
    } catch (error) {
      failure = failureOf(error)
      const { blockers, warnings } = (failure.body ?? {}) as Partial<Readiness>
      if (failure.code === 'NOT_READY' && blockers && warnings) {
        readiness = { ready: false, blockers, warnings }
      }
      announce(reasonOf(failure))
    }
    isActing = false
    onChange()
  }

  function end(): void {
    clearTimeout(settle)
    checks++
  }

  return {
    words,
    get isDone() {
      return isDone()
    },
    /** Whether the way back is known: a field that is on or off is turned off. */
    get canUndo() {
      return value === true
    },
    get isOpen() {
      return isOpen
    },
    get isActing() {
      return isActing
    },
    get readiness() {
      return readiness
    },
    get failure() {
      return failure
    },

    /** Asks what speaks against it. Nothing is done yet. */
    open(): void {
      isOpen = true
      readiness = undefined
      failure = undefined
      look()
      onChange()
    },
    cancel(): void {
      isOpen = false
      end()
      onChange()
    },
    look,
    /** To be called when something may have changed that readiness depends on. */
    refresh(): void {
      if (!isOpen || isActing) return
      clearTimeout(settle)
      settle = setTimeout(look, SETTLE_MS)
    },
    close: () =>
      act(async () => {
        const { edition, etag, since } = await editions.close(id)
        const meanwhile = (since ?? [])
          .map((finding: Finding) => say('meanwhile', { what: wordsOf(finding) }))
          .join('')
        onSave(edition as Edition, etag, `${words!.done}${meanwhile}`)
      }),
    undo: () =>
      act(async () => {
        const { edition, etag } = await editions.update(id, { [field!]: [{ value: false }] })
        onSave(edition as Edition, etag, words!.undone)
      }),
    end
  }
}
