import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** It is not part of the API, so the documentation leaves it out. */
const schema = { hide: true }

/**
 * Leads whoever has only the service's address to a page: the desk, or the documentation of the
 * API. The location is relative (RFC 9110 section 10.2.2), so that it holds below a prefix and
 * behind a proxy that cuts one.
 */
export default async function home(
  fastify: FastifyInstance,
  { page }: { page: 'desk' | 'docs' | 'docs/json' }
) {
  fastify.get('/', { schema }, async ({ url }: FastifyRequest, reply: FastifyReply) => {
    const [path] = url.split('?', 1) as [string]
    return reply.redirect(
      (path.endsWith('/') ? page : `${path.slice(path.lastIndexOf('/') + 1)}/${page}`) +
        url.slice(path.length)
    )
  })
}
