import { useCallback, useMemo, useSyncExternalStore } from 'react'
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
  type OthersOptions,
  type ShownLock
} from '../../client/src/live.ts'
import type { Edition, Field, LockedEntity, NoLists, Presence } from '../../client/src/client.ts'

export interface LockOptions {
  /** The text as it is stored; it is shown while the user does not hold the field. */
  text: string
  /** Stores a typed text, when the field loses the focus. */
  store: (text: string) => Promise<unknown>
}

/** A field, and what an input of it has. */
export interface UsedLock extends ShownLock {
  /** For an `input` or a `textarea`: `<input {...input} />`. */
  input: {
    value: string
    readOnly: boolean
    onFocus: () => void
    onChange: (event: { target: { value: string } }) => void
    onBlur: () => void
  }
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
 * return <><input {...input} />{holder && <p>{holder.userData.name} is editing this</p>}</>
 */
export function useLock(
  client: LockClient,
  { type, id, fieldName }: Field,
  { text: storedText, store }: LockOptions
): UsedLock {
  const lock = useMemo(
    () => liveLock(client, { type, id, fieldName }),
    [client, type, id, fieldName]
  )
  const { text: typedText, error } = useLive(lock)
  const [text, isHeld] = [typedText ?? storedText, typedText !== undefined]
  const focus = () => lock.focus(storedText)
  const blur = () => lock.blur(store)
  return {
    text,
    isHeld,
    holder: isHeld ? undefined : error?.lock,
    error,
    input: {
      value: text,
      readOnly: !isHeld,
      onFocus: focus,
      onChange: ({ target }) => lock.change(target.value),
      onBlur: () => {
        blur()
      }
    },
    focus,
    change: lock.change,
    blur,
    takeOver: () => lock.takeOver(storedText)
  }
}

/**
 * Who is at work in an edition and its articles, or in one entity.
 * @param what the id of an edition, or an entity
 */
export function useBoard(client: Follower, what: Followed): BoardState {
  return useLive(useFollowed(client, what, liveBoard))
}

/** An edition, kept up to date with what others save, and a `save` on the state that is shown. */
export function useEdition<AnEdition extends object = Edition, Lists extends object = NoLists>(
  client: EditionClient<AnEdition, Lists>,
  id: string | number
): EditionState<AnEdition> & Pick<LiveEdition<AnEdition>, 'save' | 'reload'> {
  const edition = useMemo(() => liveEdition<AnEdition, Lists>(client, id), [client, id])
  const { save, reload } = edition
  return { ...useLive(edition), save, reload }
}

/**
 * The other users who have an entity open, and tells them that this one has, while the page is
 * seen.
 */
export function useOthers(
  client: OthersClient,
  entity: LockedEntity,
  { stream = entity }: OthersOptions = {}
): Presence[] {
  const { type, id } = entity
  const others = useCallback(
    (client: OthersClient, stream: Followed) => liveOthers(client, { type, id }, { stream }),
    [type, id]
  )
  return useLive(useFollowed(client, stream, others)).others
}

/** An object is another one at each render, though it names the same entity. */
function useFollowed<AClient, State>(
  client: AClient,
  what: Followed,
  open: (client: AClient, what: Followed) => Live<State>
): Live<State> {
  const [type, id] = typeof what === 'object' ? [what.type, what.id] : [undefined, what]
  return useMemo(
    () => open(client, type === undefined ? id : { type, id: String(id) }),
    [client, type, id, open]
  )
}

function useLive<State>({ subscribe, get }: Live<State>): State {
  return useSyncExternalStore(subscribe, get, get)
}
