import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { matchesWeakly } from '../lib/http/entity-tag.ts'

/** Answers 304 instead of what the caller has already (RFC 9110 section 15.4.5). */
export async function notModified(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown
) {
  const { 'if-none-match': ifNoneMatch } = headers
  if (
    ifNoneMatch === undefined ||
    reply.statusCode !== 200 ||
    !matchesWeakly(ifNoneMatch, String(reply.getHeader('etag')))
  ) {
    return payload
  }
  reply.code(304).removeHeader('content-type')
  // Fastify gives an answer to HEAD the length of the answer to GET.
  return method === 'HEAD' ? payload : null
}

/** The path of an edition, for Location. */
export function locationOf({ basePath }: Pick<FastifyInstance, 'basePath'>, id: string): string {
  return `${basePath}/api/collection/${encodeURIComponent(id.toWellFormed())}`
}

/**
 * The header fields of an answer to a save.
 * @param isShared whether it had its turn among all instances
 */
export function ofSave(etag: string, isShared: boolean): Record<string, string> {
  return isShared ? { etag } : { etag, 'edition-turn': 'instance' }
}
