import {
  computed,
  onScopeDispose,
  ref,
  shallowRef,
  toValue,
  watch,
  type MaybeRefOrGetter
} from 'vue'
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
  field: Field,
  storedText: MaybeRefOrGetter<string>,
  store: (text: string) => Promise<unknown>
) {
  const ownLock = shallowRef<Held>()
  const typedText = ref('')
  const error = shallowRef<QuoinError>()
  let attempt: AbortController | undefined
  let visits = 0

  function lose(reason: QuoinError): void {
    ownLock.value = undefined
    error.value = reason
  }

  async function focus(): Promise<void> {
    visits++
    if (ownLock.value || attempt) return
    const controller = (attempt = new AbortController())
    error.value = undefined
    try {
      const granted = await locks.acquire(field, { signal: controller.signal, onLost: lose })
      typedText.value = granted.found ?? toValue(storedText)
      ownLock.value = granted
    } catch (reason) {
      if (!controller.signal.aborted) lose(reason as QuoinError)
    } finally {
      if (attempt === controller) attempt = undefined
    }
  }

  function change(text: string): void {
    typedText.value = text
    ownLock.value?.save(text).catch(console.warn) // the client tries it again
  }

  async function blur(): Promise<void> {
    const visit = visits
    attempt?.abort()
    attempt = undefined
    const lock = ownLock.value
    if (lock?.isTyped) await store(typedText.value)
    // Whoever came back meanwhile goes on with the lock.
    if (visit !== visits || ownLock.value !== lock) return
    ownLock.value = undefined
    await lock?.release()
  }

  onScopeDispose(() => {
    attempt?.abort()
    const lock = ownLock.value
    ownLock.value = undefined // the blur of an input that goes comes later
    // A lock with a typed text stays: its user finds the text again.
    if (!lock?.isTyped) lock?.release().catch(console.warn)
  })

  return {
    text: computed(() => (ownLock.value ? typedText.value : toValue(storedText))),
    isHeld: computed(() => ownLock.value !== undefined),
    holder: computed(() => error.value?.lock),
    error,
    focus,
    change,
    blur
  }
}

/**
 * An edition, who is at work in it, and a `save` that does not overwrite what somebody else has
 * saved since.
 */
export function useEdition(editions: Client['editions'], id: MaybeRefOrGetter<string | number>) {
  const read = shallowRef<ReadEdition>()
  const locks = shallowRef<LockView[]>([])
  const isLive = ref(false)
  const error = shallowRef<QuoinError>()

  watch(
    () => toValue(id),
    (id, _before, onCleanup) => {
      const controller = new AbortController()
      const { signal } = controller
      onCleanup(() => controller.abort())
      read.value = error.value = undefined
      editions.read(id, { signal }).then(
        (edition) => {
          read.value = edition
        },
        (reason) => {
          if (!signal.aborted) error.value = reason
        }
      )
      editions.subscribe(
        id,
        {
          locks(present, isStale) {
            locks.value = present
            isLive.value = !isStale
          },
          down() {
            isLive.value = false
          }
        },
        { signal }
      )
    },
    { immediate: true }
  )

  /** @throws {QuoinError} PRECONDITION_FAILED when somebody else has saved since: read it again */
  async function save(body: EditionBody): Promise<void> {
    read.value = await editions.update(toValue(id), body, { ifMatch: read.value?.etag })
  }

  return { read, locks, isLive, error, save }
}
