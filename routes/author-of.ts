import type { FastifyRequest } from 'fastify'
import { isAgent } from '../lib/agents.ts'
import type { Author } from '../lib/editions/save/recorder.ts'
import type { UpdateOptions } from '../lib/editions/save/options.ts'
import type { UpdateHeaders } from '../lib/editions/schemas.ts'
import { Failure, texts } from '../lib/errors.ts'
import { versionsIn } from '../lib/locks/etag.ts'

/**
 * Who sends a request, as far as that is known.
 * @throws {Failure} BAD_REQUEST for an X-User-Uid that names nobody
 */
export function authorOf({ uid, identity }: Pick<FastifyRequest, 'uid' | 'identity'>): Author {
  return { uid, name: identity?.name }
}

type SaveRequest = Pick<FastifyRequest<{ Headers: UpdateHeaders }>, 'uid' | 'identity' | 'headers'>

/**
 * Who changes an edition, and over which state of it and of its locks.
 * @param isRelative whether the change says what it expects, as operations on an order do
 * @throws {Failure} BAD_REQUEST; PRECONDITION_REQUIRED of an agent that names no state
 */
export function changerOf(
  request: SaveRequest,
  { isRelative = false } = {}
): Author & Pick<UpdateOptions, 'ifMatch' | 'lockVersions'> {
  const { 'if-match': ifMatch, 'lock-match': lockMatch } = request.headers
  const author = authorOf(request)
  const namesState = isRelative || (ifMatch !== undefined && ifMatch.trim() !== '*')
  if (isAgent(author.uid) && !namesState) {
    throw new Failure('PRECONDITION_REQUIRED', texts.stateRequired)
  }
  return {
    ...author,
    ifMatch,
    ...(lockMatch !== undefined && { lockVersions: locksIn(lockMatch) })
  }
}

/** The versions of locks that a Lock-Match names. */
function locksIn(lockMatch: string): string[] {
  const versions = versionsIn(lockMatch, 'lock-match')
  if (versions !== '*') return versions
  throw new Failure('BAD_REQUEST', 'headers/lock-match must name versions of locks: * is none')
}
