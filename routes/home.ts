import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/env.ts'
import { readSources } from '../packages/desk/server/sources.ts'

/** It is not part of the API, so the documentation leaves it out. */
const schema = { hide: true }

/**
 * Leads whoever has only the service's address to the desk, or without DESK=on to the documentation of the API. The locations
 * are relative (RFC 9110 section 10.2.2), so that they hold below a prefix and behind a proxy that cuts one.
 */
export default async function home(
  fastify: FastifyInstance,
  { config: { desk } }: { config: Config }
) {
  const page = desk ? 'desk' : 'docs'

  fastify.get('/', { schema }, async ({ url }: FastifyRequest, reply: FastifyReply) => {
    const [path] = url.split('?', 1) as [string]
    return reply.redirect(
      (path.endsWith('/') ? page : `${path.slice(path.lastIndexOf('/') + 1)}/${page}`) +
        url.slice(path.length)
    )
  })

  if (!desk) return
  if (!fastify.ignoresTrailingSlash) {
    fastify.get('/desk/', { schema }, async ({ url }, reply) => reply.redirect(deskFromBelow(url)))
  }
  // Browsers ask for it on pages that name no icon, such as an answer of the API.
  fastify.get('/favicon.ico', { schema }, async (_request, reply) =>
    reply.redirect(`desk/files/${(await readSources()).icon}`)
  )
}

/** Where the path with a slash at its end leads: from there the page would not find its files. */
export function deskFromBelow(url: string): string {
  return `../desk${url.slice(url.split('?', 1)[0]!.length)}`
}
