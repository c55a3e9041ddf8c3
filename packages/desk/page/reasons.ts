import type { Finding, QuoinError } from '../../client/src/client.ts'
import { codeText, say } from './texts.ts'
import { nameOf } from './words.ts'

/**
 * What the service says of a failure: in the reader's language by its code, else in the service's
 * words. These are in the text too where a code has many reasons, or the reason is Drupal's.
 */
export function reasonOf({ code, message }: Pick<QuoinError, 'code' | 'message'>): string {
  return codeText(code, { message }) ?? message
}

/** The same as a sentence, with its full stop, before others. */
export function sentenceOf(failure: Pick<QuoinError, 'code' | 'message'>): string {
  return reasonOf(failure).trim().replace(/\.?$/, '.')
}

/**
 * Why nobody could tell who sits here: what the service says, or that there is no answer of the
 * service.
 */
export function signInReason(body?: Partial<Pick<QuoinError, 'code' | 'message'>>): string {
  return body?.message ? reasonOf(body as Pick<QuoinError, 'code' | 'message'>) : say('serviceAway')
}

/** What is known of the entity that a finding is about. */
export interface About {
  what: string | undefined
  label: string | undefined
}

/**
 * What an editor should know of before an edition is closed, in the reader's language as far as its
 * parts are known.
 */
export function wordsOfFinding(
  { code, message, fieldName, lock, draft }: Finding,
  { what, label }: About
): string {
  const user = (lock ?? draft)?.userData
  const values = {
    what,
    ...(fieldName !== undefined && { label }),
    ...(user && { name: user.name ? nameOf(user) : say('somebody') })
  }
  return codeText(code, values) ?? message
}
