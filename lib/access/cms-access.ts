import { unavailable } from '../auth/identity.ts'
import { remembering } from '../auth/remember.ts'
import { Failure, texts, type FailureCode } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { fingerprint } from '../drupal/credentials.ts'
import { createRefusals, createRefusalTimes, type Refusals } from '../drupal/refusals.ts'
import type { Entity } from '../locks/schemas.ts'
import type { Access } from './access.ts'
import type { EntityLocation, Questions } from './questions.ts'
import { systemTime, type Time } from '../time.ts'

export interface CmsAccessOptions {
  questions: Questions
  /** What was refused to a caller, in whatever way, is asked anew. */
  refusals?: Refusals | undefined
  /**
   * The types of entities that every known caller may see and lock; the CMS is not asked about
   * them.
   */
  openTypes?: readonly string[]
  /** How many answers of each kind are remembered. */
  most?: number
  time?: Time
}

interface Question {
  entity: Entity
  caller: Caller
}

/** How long a refusal is remembered, as long as a permission is. */
const REFUSED_MS = 60_000

/**
 * Access by the CMS's own rules: users who may view an entity there may see its locks, and users
 * who may edit it may lock. Quoin asks the CMS with the caller's own credentials. An answer holds
 * for a minute. While the CMS is away a permission holds for 15 minutes (lib/auth/remember.ts).
 */
export function createCmsAccess({
  questions,
  refusals = createRefusals(),
  openTypes = [],
  time = systemTime,
  ...memory
}: CmsAccessOptions): Access {
  const refused = createRefusalTimes(refusals, time)
  const keyOf = ({ entity: { type, id }, caller }: Question) =>
    `${fingerprint(caller)} ${type}-${id}`
  const options = {
    ...memory,
    time,
    keyOf,
    refusedMs: () => REFUSED_MS,
    isRefused: ({ entity, caller }: Question, { id, uuid }: EntityLocation, askedAt: number) =>
      refused.last(caller, entity.id, id, uuid) >= askedAt
  }
  const place = remembering<Question, EntityLocation>({
    ...options,
    ask: ({ entity, caller }) => questions.find(entity, caller)
  })
  const edit = remembering<Question, EntityLocation>({
    ...options,
    ask: async (question) => {
      // Who may not edit it may not even see it by now.
      const found = await place(question, true)
      return found && (await questions.isEditable(found, question.caller)) ? found : undefined
    }
  })

  return {
    async demand(right, entity, { caller }) {
      if (openTypes.includes(entity.type)) return
      try {
        const found = await (right === 'edit' ? edit : place)({ entity, caller })
        if (found) return found
        if (right === 'edit' && (await place({ entity, caller }))) {
          throw new Failure(
            'FORBIDDEN',
            `You may see ${entity.type} ${entity.id} but not edit it, so you cannot lock it`
          )
        }
      } catch (error) {
        throw isFinal(error)
          ? error
          : unavailable(
              'The CMS cannot say whether you may see or edit this; try again',
              error,
              retryAfter(error)
            )
      }
      throw new Failure('NOT_FOUND', texts.hidden(entity))
    }
  }
}

/** The failures that another try does not change. */
const FINAL: readonly FailureCode[] = ['FORBIDDEN', 'CMS_READ_ONLY', 'CMS_REFUSED']

function isFinal(error: unknown): boolean {
  return error instanceof Failure && FINAL.includes(error.code)
}

/** The Retry-After of the CMS, if it is a number of seconds. */
function retryAfter(error: unknown): string | undefined {
  const seconds = error instanceof Failure ? error.headers['retry-after'] : undefined
  return seconds !== undefined && /^\d{1,9}$/.test(seconds) ? seconds : undefined
}
