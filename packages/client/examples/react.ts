import { useEffect, useRef, useState } from 'react'
import type {
  Client,
  EditionBody,
  Field,
  Held,
  LockView,
  QuoinError,
  ReadEdition
} from '@quoin/client'

/**
 * A field that is locked while it has the focus. What is typed is kept in the lock until it is
 * stored.
 *
 * @param storedText the text as it is stored; it is shown while the field is not locked
 * @param store stores a text, before the lock is released
 */
export function useField(
  locks: Client['locks'],
  { type, id, fieldName }: Field,
  storedText: string,
  store: (text: string) => Promise<unknown>
) {
  const [isWanted, setWanted] = useState(false)
  const [ownLock, setOwnLock] = useState<Held>()
  const [text, setText] = useState(storedText)
  const [error, setError] = useState<QuoinError>()
  const visits = useRef(0)

  useEffect(() => {
    if (!isWanted) return
    const controller = new AbortController()
    const { signal } = controller
    let lock: Held | undefined
    function fail(error: QuoinError): void {
      if (signal.aborted) return
      setOwnLock(undefined)
      setWanted(false)
      setError(error)
    }
    setError(undefined)
    locks.acquire({ type, id, fieldName }, { signal, onLost: fail }).then((newLock) => {
      lock = newLock
      setText(newLock.found ?? storedText)
      setOwnLock(newLock)
    }, fail)
    return () => {
      controller.abort()
      setOwnLock(undefined)
      // A lock with a typed text stays: its user finds the text again.
      if (!lock?.isTyped) lock?.release().catch(console.warn)
    }
  }, [locks, type, id, fieldName, isWanted])

  function focus(): void {
    visits.current++
    setWanted(true)
  }

  function change(text: string): void {
    setText(text)
    ownLock?.save(text).catch(console.warn) // the client tries it again
  }

  async function blur(): Promise<void> {
    const visit = visits.current
    if (ownLock?.isTyped) {
      await store(text)
      // Whoever came back meanwhile goes on with the lock.
      if (visit !== visits.current) return
      await ownLock.release()
    }
    setWanted(false)
  }

  return {
    text: ownLock ? text : storedText,
    isHeld: ownLock !== undefined,
    holder: error?.lock,
    error,
    focus,
    change,
    blur
  }
}

interface EditionState {
  read?: ReadEdition
  locks: LockView[]
  isLive: boolean
  error?: QuoinError
}

const EMPTY: EditionState = { locks: [], isLive: false }

/**
 * An edition, who is at work in it, and a `save` that does not overwrite what somebody else has
 * saved since.
 */
export function useEdition(editions: Client['editions'], id: string | number) {
  const [state, setState] = useState(EMPTY)
  const put = (change: Partial<EditionState>) => setState((before) => ({ ...before, ...change }))

  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    editions.read(id, { signal }).then(
      (read) => put({ read }),
      (error) => {
        if (!signal.aborted) put({ error })
      }
    )
    editions.subscribe(
      id,
      {
        locks: (locks, isStale) => put({ locks, isLive: !isStale }),
        down: () => put({ isLive: false })
      },
      { signal }
    )
    return () => {
      controller.abort()
      setState(EMPTY)
    }
  }, [editions, id])

  /** @throws {QuoinError} PRECONDITION_FAILED when somebody else has saved since: read it again */
  async function save(body: EditionBody): Promise<void> {
    put({ read: await editions.update(id, body, { ifMatch: state.read?.etag }) })
  }

  return { ...state, save }
}
