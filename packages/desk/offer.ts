import type { createCopy } from './copy.ts'
import type { createText } from './text.ts'

/** The lock in which a text was found. */
type Found = { readonly version?: string | undefined }

/** A text of a field that the same user had typed earlier or elsewhere, until it is restored, discarded or saved. */
export function createOffer (text: ReturnType<typeof createText>, copy: ReturnType<typeof createCopy>, putAside: (text: string) => void) {
  let offer: { text: string, lock: Found } | undefined
  const isInLock = () => offer !== undefined && offer.text === copy.sent
  return {
    get text () { return offer?.text },
    get lock () { return offer?.lock },
    /** Whether it is in the lock still. */
    get isInLock () { return isInLock() },
    /** A lock had this; what is saved, stands in the field or was sent from it is no offer. */
    find (payload: string | undefined, lock: Found): void {
      if (payload !== undefined && !copy.isOwn(payload) && payload !== text.now && payload !== text.base) offer = { text: payload, lock }
    },
    /** Another text takes its place in the lock. */
    yield (): void {
      if (!isInLock()) return
      putAside(offer!.text)
      offer = undefined
    },
    /** A text of before takes its place, and that of what stands in the field. */
    replace (earlier: string): void {
      for (const one of [text.now, offer?.text]) {
        if (one !== undefined && one !== text.base && one !== earlier) putAside(one)
      }
      offer = undefined
    },
    end (): void {
      offer = undefined
    }
  }
}
