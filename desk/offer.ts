import type { createCopy } from './copy.ts'
import type { createText } from './text.ts'

/** The lock in which a text was found. */
type Found = { readonly version?: string | undefined }

/** A text of a field that the same user had typed earlier or elsewhere, until it is restored, discarded or saved. */
export function createOffer (text: ReturnType<typeof createText>, copy: ReturnType<typeof createCopy>) {
  let offer: { text: string, lock?: Found } | undefined
  return {
    get text () { return offer?.text },
    get lock () { return offer?.lock },
    /** Whether it is in the lock still. */
    get isInLock () { return offer !== undefined && offer.text === copy.sent },
    /** A lock had this; what is saved, or stands in the field, is no offer. */
    find (payload: string | undefined, lock: Found): void {
      if (payload !== undefined && payload !== text.now && payload !== text.base) offer = { text: payload, lock }
    },
    /** Another one takes the place of what stands in the field, which is offered where it is not saved. */
    swap (earlier: string): void {
      offer = text.now !== text.base && text.now !== earlier ? { text: text.now } : undefined
    },
    end (): void {
      offer = undefined
    }
  }
}
