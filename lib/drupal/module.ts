import type { IncomingHttpHeaders } from 'node:http'
import { systemTime, type Time } from '../time.ts'

/** The header field in which Quoin's module names its version (packages/drupal-module). */
const VERSION_FIELD = 'quoin-module'

/**
 * How long an answer shows that the module is there, in milliseconds: as long as a caller's last
 * answer serves as a base (lib/editions/save/bases.ts).
 */
const SEEN_MS = 900_000

/** What answers of a Drupal have shown of Quoin's module in it. */
export interface DrupalModule {
  /** Takes in the header fields of an answer of JSON:API. */
  learn(headers: IncomingHttpHeaders): void
  /**
   * The version of the module, if an answer has named it lately and none since came without it;
   * undefined where that is not known.
   */
  version(): string | undefined
}

/** A Drupal of whose module nothing is known yet. */
export function createDrupalModule(time: Time = systemTime): DrupalModule {
  let version: string | undefined
  let until = -Infinity
  return {
    learn(headers) {
      // A cache before Drupal may keep an answer for longer than the module is there. It says so by
      // `Age` (RFC 9111 section 5.1).
      if (headers.age !== undefined) return
      version = headers[VERSION_FIELD]?.toString()
      until = time.monotonic() + SEEN_MS
    },
    version: () => (time.monotonic() < until ? version : undefined)
  }
}
