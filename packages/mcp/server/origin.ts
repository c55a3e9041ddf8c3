import type { FastifyRequest } from 'fastify'
import { Failure, texts } from '../../../lib/errors.ts'

/**
 * Refuses pages of other sites, whatever credentials they have. Source: MCP 2026-07-28, Streamable
 * HTTP, Security: a server answers 403 to an Origin that is not its own.
 * @param trustedOrigins origins whose pages may call, such as `https://desk.example.org`
 * @throws {Failure} FORBIDDEN
 */
export function refuseOtherOrigins(
  { headers }: Pick<FastifyRequest, 'headers'>,
  trustedOrigins: readonly string[]
): void {
  // HTTP/2 has the host in `:authority`, which comes before Host (RFC 9113 section 8.3.1).
  const { origin, ':authority': host = headers.host } = headers
  if (origin === undefined || trustedOrigins.includes(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw new Failure('FORBIDDEN', texts.anotherSite)
}
