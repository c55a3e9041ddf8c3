import { computed, onScopeDispose, ref, shallowRef, toValue, watch, type MaybeRefOrGetter } from 'vue'
import type { Client, EditionBody, Field, Held, LockView, QuoinError, ReadEdition } from '@quoin/client'

/**
 * A field that is locked while it has the focus. What is typed is kept in the lock until it is stored.
 *
 * @param stored the text as it is stored; it is shown while the field is not locked
 * @param store stores a text, before the lock is released
 */
export function useField (locks: Client['locks'], field: Field, stored: MaybeRefOrGetter<string>, store: (text: string) => Promise<unknown>) {
  const held = shallowRef<Held>()
  const typed = ref('')
  const error = shallowRef<QuoinError>()
  let pending: AbortController | undefined
  let visits = 0

  function lose (reason: QuoinError): void {
    held.value = undefined
    error.value = reason
  }

  async function focus (): Promise<void> {
    visits++
    if (held.value || pending) return
    const controller = pending = new AbortController()
    error.value = undefined
    try {
      const granted = await locks.acquire(field, { signal: controller.signal, onLost: lose })
      typed.value = granted.found ?? toValue(stored)
      held.value = granted
    } catch (reason) {
      if (!controller.signal.aborted) lose(reason as QuoinError)
    } finally {
      if (pending === controller) pending = undefined
    }
  }

  function change (text: string): void {
    typed.value = text
    held.value?.save(text).catch(console.warn) // the client tries it again
  }

  async function blur (): Promise<void> {
    const visit = visits
    pending?.abort()
    pending = undefined
    const lock = held.value
    if (lock?.isTyped) await store(typed.value)
    // Whoever came back meanwhile goes on with the lock.
    if (visit !== visits || held.value !== lock) return
    held.value = undefined
    await lock?.release()
  }

  onScopeDispose(() => {
    pending?.abort()
    const lock = held.value
    held.value = undefined // the blur of an input that goes comes later
    // A lock with a typed text stays: its user finds the text again.
    if (!lock?.isTyped) lock?.release().catch(console.warn)
  })

  return {
    text: computed(() => held.value ? typed.value : toValue(stored)),
    isHeld: computed(() => held.value !== undefined),
    holder: computed(() => error.value?.lock),
    error,
    focus,
    change,
    blur
  }
}

/** An edition, who is at work in it, and a `save` that does not overwrite what somebody else has saved since. */
export function useEdition (editions: Client['editions'], id: MaybeRefOrGetter<string | number>) {
  const read = shallowRef<ReadEdition>()
  const locks = shallowRef<LockView[]>([])
  const isLive = ref(false)
  const error = shallowRef<QuoinError>()

  watch(() => toValue(id), (id, _before, onCleanup) => {
    const controller = new AbortController()
    const { signal } = controller
    onCleanup(() => controller.abort())
    read.value = error.value = undefined
    editions.read(id, { signal }).then((edition) => { read.value = edition }, (reason) => { if (!signal.aborted) error.value = reason })
    editions.subscribe(id, {
      locks (present, isStale) {
        locks.value = present
        isLive.value = !isStale
      },
      down () { isLive.value = false }
    }, { signal })
  }, { immediate: true })

  /** @throws {QuoinError} PRECONDITION_FAILED when somebody else has saved since: read it again */
  async function save (body: EditionBody): Promise<void> {
    read.value = await editions.update(toValue(id), body, { ifMatch: read.value?.etag })
  }

  return { read, locks, isLive, error, save }
}
