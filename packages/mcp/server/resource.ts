import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { ScopeChallenge } from '@modelcontextprotocol/server'
import type { Config } from '../../../config/env.ts'
import { SCOPES, type Scope } from './tool.ts'
import { isAllowed, TOOLS } from './tools.ts'

/** /mcp as a protected resource of OAuth. Source: RFC 9728. */
export interface ProtectedResource {
  /** Its identifier, which is the audience of its tokens: the public address of /mcp. */
  audience: string
  /** What a 401 adds to WWW-Authenticate, for a request with these header fields. */
  challenge(headers: IncomingHttpHeaders): string
  /** Where its metadata are, as clients reach them. */
  metadataUrl: string
  metadata: object
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Undefined where /mcp takes the same credentials as REST (MCP is no address). */
export function resourceOf(config: Config): ProtectedResource | undefined {
  const { auth, mcpPublicUrl } = config
  if (auth?.kind !== 'jwt' || mcpPublicUrl === undefined) return undefined
  const { issuer } = auth.jwt
  const metadataUrl = mcpPublicUrl.replace(/\/mcp$/, `${WELL_KNOWN}/mcp`)
  return {
    audience: mcpPublicUrl,
    challenge: (headers) =>
      `resource_metadata="${metadataUrl}", scope="${scopesFor(headers, config).join(' ')}"`,
    metadataUrl,
    metadata: {
      resource: mcpPublicUrl,
      ...(/^https?:\/\//.test(issuer) && { authorization_servers: [issuer] }),
      scopes_supported: scopesOf(config),
      bearer_methods_supported: ['header'],
      resource_name: 'Quoin'
    }
  }
}

/** The scopes of the tools that there are. */
function scopesOf(config: Config): Scope[] {
  return SCOPES.filter((scope) =>
    TOOLS.some((tool) => tool.scope === scope && isAllowed(tool, config))
  )
}

/**
 * The scopes that a request needs whose caller is not known. Nobody has read its body yet; of a
 * call Mcp-Name says which tool, since 2026-07-28. What writes needs what was read. Source: MCP
 * 2025-11-25, Authorization: a challenge names the scopes that the request requires.
 */
function scopesFor({ 'mcp-name': name }: IncomingHttpHeaders, config: Config): Scope[] {
  const tool = TOOLS.find((tool) => tool.name === name && isAllowed(tool, config))
  return [...new Set<Scope>([tool?.scope ?? 'read', 'read'])]
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
