import { Failure, texts } from '../../errors.ts'
import type { Rearrangement } from '../order/operations.ts'

/** What a save is about to do, small enough to be noted before it is sent. */
export interface Intent {
  /** Names the state that the edition has before. */
  before: string
  /** Names what its references become. */
  after: string
  /** What the operations on the running order come to. */
  outcomes?: Rearrangement['outcomes']
}

/** What a change came to: the edition as it was saved. */
export interface ConcludedChange extends Pick<Intent, 'outcomes'> {
  uuid: string
  etag: string
}

/** One attempt at a request that its caller may repeat. */
export interface Attempt {
  /** Of the edition that a create makes, where the body gives none. */
  uuid: string
  /**
   * What an earlier attempt was about to do, and may have done. Undefined once this attempt has
   * noted its own intent.
   */
  readonly earlier: Intent | undefined
  /**
   * Notes the save that is about to be sent.
   * @throws {Failure} IDEMPOTENCY_KEY_BUSY where another attempt has begun since;
   *   STORE_UNAVAILABLE, STORE_FAILED
   */
  intend(intent: Intent): Promise<void>
  /**
   * Called before something is sent.
   * @throws {Failure} IDEMPOTENCY_KEY_BUSY where another attempt may have begun
   */
  confirm(): void
  /** Notes the change that was saved, while its turn ends. It does not throw. */
  conclude(change: ConcludedChange): Promise<void>
}

/**
 * The failure of a request whose earlier attempt may have saved: the edition is neither as it was
 * before, nor as it would be after.
 */
export function outcomeUnknown(): Failure {
  return new Failure('OUTCOME_UNKNOWN', texts.outcomeUnknown)
}
