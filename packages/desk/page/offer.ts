import type { createCopy } from './copy.ts'
import type { createText } from './text.ts'

/** The lock in which a text was found. */
type LockVersion = { readonly version?: string | undefined }

/**
 * A text that the same user typed earlier or in another window. It is offered until it is restored,
 * discarded or saved.
 */
export function createOffer(
  text: ReturnType<typeof createText>,
  copy: ReturnType<typeof createCopy>,
  putAside: (text: string) => void
) {
  let offer: { text: string; lock: LockVersion } | undefined
  const isInLock = () => offer !== undefined && offer.text === copy.sent
  return {
    get text() {
      return offer?.text
    },
    get lock() {
      return offer?.lock
    },
    /** Whether the lock still has it. */
    get isInLock() {
      return isInLock()
    },
    /** Offers the text of a lock, unless it is saved, stands in the field or was sent from here. */
    find(payload: string | undefined, lock: LockVersion): void {
      if (
        payload !== undefined &&
        !copy.isOwn(payload) &&
        payload !== text.now &&
        payload !== text.base
      ) {
        offer = { text: payload, lock }
      }
    },
    /** Puts the offer aside, when another text takes its place in the lock. */
    yield(): void {
      if (!isInLock()) return
      putAside(offer!.text)
      offer = undefined
    },
    /** Puts the offer and the text of the field aside, when an earlier text replaces both. */
    replace(earlier: string): void {
      for (const candidate of [text.now, offer?.text]) {
        if (candidate !== undefined && candidate !== text.base && candidate !== earlier) {
          putAside(candidate)
        }
      }
      offer = undefined
    },
    end(): void {
      offer = undefined
    }
  }
}
