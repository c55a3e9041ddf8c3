import {
  computed,
  getCurrentInstance,
  onMounted,
  shallowRef,
  toValue,
  watch,
  type ComputedRef,
  type MaybeRefOrGetter,
  type ShallowRef
} from 'vue'
import {
  liveBoard,
  liveEdition,
  liveLock,
  liveOthers,
  type BoardState,
  type EditionClient,
  type EditionState,
  type Followed,
  type Follower,
  type Live,
  type LiveEdition,
  type LockClient,
  type OthersClient,
  type ShownLock
} from '../../client/src/live.ts'
import type { Edition, Field, LockedEntity, NoLists, Presence } from '../../client/src/client.ts'

/** Each member of a state, as a ref. */
export type Refs<State> = { readonly [Name in keyof State]: ComputedRef<State[Name]> }

export interface LockOptions {
  /** The text as it is stored; it is shown while the user does not hold the field. */
  text: MaybeRefOrGetter<string>
  /** Stores a typed text, when the field loses the focus. */
  store: (text: string) => Promise<unknown>
}

/** A field, and what an input of it has. */
export interface UsedLock extends Refs<ShownLock> {
  /** For an `input` or a `textarea`: `<input v-bind="input">`. */
  input: ComputedRef<{
    value: string
    readonly: boolean
    onFocus: () => void
    onInput: (event: Event) => void
    onBlur: () => void
  }>
  focus: () => void
  change: (text: string) => void
  blur: () => Promise<void>
  /** Locks the field, whoever holds it; their text is kept as a draft. */
  takeOver: () => void
}

/**
 * A field that is locked while it has the focus. What is typed is kept in the lock until it is
 * stored. A component that goes releases the lock, unless it has a typed text that is not stored:
 * its user finds the text again.
 * @example
 * const { input, holder } = useLock(client, field, { text: title, store: (title) => save(title) })
 */
export function useLock(
  client: MaybeRefOrGetter<LockClient>,
  field: MaybeRefOrGetter<Field>,
  { text: storedText, store }: LockOptions
): UsedLock {
  const { live, state } = useLive(
    () => {
      const { type, id, fieldName } = toValue(field)
      return [toValue(client), type, id, fieldName]
    },
    (client, type, id, fieldName) => liveLock(client, { type, id, fieldName })
  )
  const text = computed(() => state.value.text ?? toValue(storedText))
  const isHeld = computed(() => state.value.text !== undefined)
  const error = computed(() => state.value.error)
  const focus = () => live.value.focus(toValue(storedText))
  const change = (text: string) => live.value.change(text)
  const blur = () => live.value.blur(store)
  return {
    text,
    isHeld,
    holder: computed(() => (isHeld.value ? undefined : error.value?.lock)),
    error,
    input: computed(() => ({
      value: text.value,
      readonly: !isHeld.value,
      onFocus: focus,
      onInput: ({ target }: Event) => change((target as unknown as { value: string }).value),
      onBlur: () => {
        blur()
      }
    })),
    focus,
    change,
    blur,
    takeOver: () => live.value.takeOver(toValue(storedText))
  }
}

/**
 * Who is at work in an edition and its articles, or in one entity.
 * @param what the id of an edition, or an entity
 */
export function useBoard(
  client: MaybeRefOrGetter<Follower>,
  what: MaybeRefOrGetter<Followed>
): Refs<BoardState> {
  const { state } = useLive(
    () => [toValue(client), ...partsOf(toValue(what))],
    (client, type, id) => liveBoard(client, followed(type, id))
  )
  return { locks: computed(() => state.value.locks), isLive: computed(() => state.value.isLive) }
}

/** An edition, kept up to date with what others save, and a `save` on the state that is shown. */
export function useEdition<AnEdition extends object = Edition, Lists extends object = NoLists>(
  client: MaybeRefOrGetter<EditionClient<AnEdition, Lists>>,
  id: MaybeRefOrGetter<string | number>
): Refs<EditionState<AnEdition>> & Pick<LiveEdition<AnEdition>, 'save' | 'reload'> {
  const { live, state } = useLive(
    () => [toValue(client), toValue(id)],
    (client, id) => liveEdition<AnEdition, Lists>(client, id)
  )
  return {
    edition: computed(() => state.value.edition),
    etag: computed(() => state.value.etag),
    age: computed(() => state.value.age),
    error: computed(() => state.value.error),
    save: (body, options) => live.value.save(body, options),
    reload: () => live.value.reload()
  }
}

/**
 * The other users who have an entity open, and tells them that this one has, while the page is
 * seen.
 * @param options.stream what the page follows anyway, such as the id of the edition with its board
 */
export function useOthers(
  client: MaybeRefOrGetter<OthersClient>,
  entity: MaybeRefOrGetter<LockedEntity>,
  { stream = entity }: { stream?: MaybeRefOrGetter<Followed> | undefined } = {}
): ComputedRef<Presence[]> {
  const { state } = useLive(
    () => {
      const { type, id } = toValue(entity)
      return [toValue(client), type, id, ...partsOf(toValue(stream))]
    },
    (client, type, id, streamType, streamId) =>
      liveOthers(client, { type, id }, { stream: followed(streamType, streamId) })
  )
  return computed(() => state.value.others)
}

/** The entity type, undefined of an edition, and the id. */
function partsOf(what: Followed): [type: string | undefined, id: string | number] {
  return typeof what === 'object' ? [what.type, what.id] : [undefined, what]
}

function followed(type: string | undefined, id: string | number): Followed {
  return type === undefined ? id : { type, id: String(id) }
}

/**
 * Follows what `open` makes of `parts` as long as the component is mounted, or its effect scope
 * is there. On a server it follows nothing.
 * @param parts an object that is made anew would be another one, though it names the same entity
 */
function useLive<Parts extends [unknown, ...unknown[]], One extends Live<any>>(
  parts: () => Parts,
  open: (...parts: NoInfer<Parts>) => One
): { live: ComputedRef<One>; state: Readonly<ShallowRef<ReturnType<One['get']>>> } {
  let before: Parts | undefined
  let opened: One | undefined
  const live = computed(() => {
    const now = parts()
    if (!opened || now.some((part, index) => part !== before?.[index])) opened = open(...now)
    before = now
    return opened
  })
  const state = shallowRef<ReturnType<One['get']>>(live.value.get())

  function start(): void {
    watch(
      live,
      (live, _before, onCleanup) => {
        onCleanup(
          live.subscribe((now) => {
            state.value = now
          })
        )
      },
      { immediate: true, flush: 'sync' }
    )
  }

  if (getCurrentInstance()) onMounted(start)
  else start()
  return { live, state }
}
