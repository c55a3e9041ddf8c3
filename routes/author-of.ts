import type { FastifyRequest } from 'fastify'
import type { Author } from '../lib/editions/save/recorder.ts'

/**
 * Who sends a request, as far as that is known.
 * @throws {Failure} BAD_REQUEST for an X-User-Uid that names nobody
 */
export function authorOf({ uid, identity }: Pick<FastifyRequest, 'uid' | 'identity'>): Author {
  return { uid, name: identity?.name }
}
