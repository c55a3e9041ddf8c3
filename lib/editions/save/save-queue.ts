import { Failure } from '../../errors.ts'
import { createKeyedMutex, type KeyedMutex, type Later } from '../../keyed-mutex.ts'

/** How many saves of one edition wait for others, and how long each, in milliseconds. */
const WAITING_MAX = 16
const WAIT_MS = 10_000
const RETRY_AFTER_SECONDS = '5'

/** Has the saves of one edition done one after the other. Whoever cannot wait gets EDITION_BUSY, with nothing sent. */
export function createSaveQueue (later?: Later): KeyedMutex {
  return createKeyedMutex({
    waitersMax: WAITING_MAX,
    waitMs: WAIT_MS,
    refusal: (why) => new Failure('EDITION_BUSY', `${REASONS[why]}. Nothing of yours was sent: try again later.`, { headers: { 'retry-after': RETRY_AFTER_SECONDS } }),
    ...(later && { later })
  })
}

const REASONS = {
  'too many wait': `${WAITING_MAX} saves of this edition wait already`,
  'waited too long': `Other saves of this edition have taken more than ${WAIT_MS} ms`
}
