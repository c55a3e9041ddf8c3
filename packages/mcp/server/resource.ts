import type { FastifyInstance } from 'fastify'
import type { ScopeChallenge } from '@modelcontextprotocol/server'
import type { Config } from '../../../config/env.ts'
import { SCOPES, type Scope } from './tool.ts'

/** /mcp as a protected resource of OAuth. Source: RFC 9728. */
export interface ProtectedResource {
  /** Its identifier, which is the audience of its tokens: the public address of /mcp. */
  audience: string
  /** What a 401 adds to WWW-Authenticate. */
  challenge: string
  /** Where its metadata are, as clients reach them. */
  metadataUrl: string
  metadata: object
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Undefined where /mcp takes the same credentials as REST (MCP_PUBLIC_URL is not set). */
export function resourceOf({ auth, mcpPublicUrl }: Config): ProtectedResource | undefined {
  if (auth?.kind !== 'jwt' || mcpPublicUrl === undefined) return undefined
  const { issuer } = auth.jwt
  const metadataUrl = mcpPublicUrl.replace(/\/mcp$/, `${WELL_KNOWN}/mcp`)
  return {
    audience: mcpPublicUrl,
    challenge: `resource_metadata="${metadataUrl}", scope="read"`,
    metadataUrl,
    metadata: {
      resource: mcpPublicUrl,
      ...(/^https?:\/\//.test(issuer) && { authorization_servers: [issuer] }),
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'Quoin'
    }
  }
}

/**
 * Serves the metadata: below where Quoin is mounted, and at the path that clients make of the
 * resource's own (RFC 9728 section 3.1), for a proxy that passes it on.
 */
export function serveMetadata(
  fastify: FastifyInstance,
  { audience, metadata }: ProtectedResource
): void {
  const paths = new Set([
    WELL_KNOWN,
    `${WELL_KNOWN}/mcp`,
    `${WELL_KNOWN}${new URL(audience).pathname}`
  ])
  for (const path of paths) fastify.get(path, { schema: { hide: true } }, async () => metadata)
}

/**
 * What to ask the issuer for where a token does not allow what a tool needs.
 * @param granted undefined where /mcp is no protected resource, so that tokens have no scopes
 */
export function scopeChallenge(
  needed: Scope,
  granted: readonly string[] | undefined
): ScopeChallenge | undefined {
  if (granted === undefined || granted.includes(needed)) return undefined
  return {
    scopes: [needed, ...SCOPES.filter((scope) => granted.includes(scope))],
    errorDescription: `The token does not allow ${needed}`
  }
}
