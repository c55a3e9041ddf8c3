import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { claimAccess, type Access } from '../../lib/access/access.ts'
import { createCmsAccess } from '../../lib/access/cms-access.ts'
import { queryToken } from '../../lib/auth/bearer.ts'
import { isCrossSite } from '../../lib/auth/cross-site.ts'
import { drupalCheck } from '../../lib/auth/drupal.ts'
import {
  unauthenticatedFailure,
  type Check,
  type Identity,
  type User
} from '../../lib/auth/identity.ts'
import { Failure, texts } from '../../lib/errors.ts'
import type { Refusals } from '../../lib/drupal/refusals.ts'
import { ownPath } from './mount.ts'
import { openQuestions } from './questions.ts'
import type { Time } from '../../lib/time.ts'

/**
 * What is protected: the patterns of Quoin's own routes, which stand for every spelling of their
 * paths.
 */
const PROTECTED = /^\/(?:api\/|mcp$)/
/**
 * A uid in X-User-Uid. Characters beyond visible ASCII are percent-encoded, so 255 of them become
 * at most 3060.
 */
const VISIBLE = /^[!-~]{1,3060}$/

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether callers are known: AUTH is not none. */
    authenticates: boolean
    /** Says who may see and who may lock; undefined with AUTH=none, where everybody may. */
    access: Access | undefined
  }
  interface FastifyRequest {
    /** The caller of a request below /api, or to /mcp, where AUTH is not none. */
    identity: User | undefined
    /**
     * The uid of the caller; with AUTH=none what the header field X-User-Uid says, if anything.
     * @throws {Failure} BAD_REQUEST where X-User-Uid is looked at and is not 1 to 3060 visible
     *   characters
     */
    readonly uid: string | undefined
    /** Whether the caller is still who it was; yes while that cannot be found out. */
    isKnown(): Promise<boolean>
  }
  interface FastifyContextConfig {
    /**
     * Takes the bearer token as `access_token` in the query too: for what cannot send header
     * fields, as EventSource.
     */
    tokenInQuery?: true
    /**
     * A resource with tokens of its own: their audience, and what a 401 adds to WWW-Authenticate
     * (RFC 9728 section 5.1).
     */
    resource?: { audience: string; challenge(headers: IncomingHttpHeaders): string }
  }
}

interface AuthOptions {
  config: Config
  refusals: Refusals
  /** The store's: `exp` and `nbf` of tokens go by its `now`. */
  time: Time
}

/**
 * Authenticates callers as the settings say, and decorates requests with `identity` and `uid`. An
 * unknown caller is refused before the body is looked at.
 */
async function auth(fastify: FastifyInstance, { config, refusals, time }: AuthOptions) {
  const { check, access } = await policyOf(fastify, config, refusals, time)
  const admins = new Set(config.auth?.admins)
  fastify.decorate('authenticates', check !== undefined)
  fastify.decorate('access', access)
  fastify.decorateRequest('identity', undefined)
  fastify.decorateRequest('uid', { getter: uidOf })
  fastify.decorateRequest('isKnown', async function () {
    if (!check) return true
    return check(this.headers, this.id).then(
      ({ uid }) => uid === this.identity?.uid,
      (failure: Failure) => failure.code !== 'UNAUTHENTICATED'
    )
  })
  if (!check) return

  fastify.addHook('onRequest', async (request, reply) => {
    const { config: route, url } = request.routeOptions
    if (!PROTECTED.test(ownPath(request.server, url!))) return
    if (route.tokenInQuery && takeQueryToken(request)) {
      reply.header('cache-control', 'private, no-store')
    }
    if (config.auth?.kind === 'drupal' && isCrossSite(request, config.corsOrigins)) {
      throw new Failure(
        'FORBIDDEN',
        `${texts.anotherSite}, with credentials that it adds by itself`
      )
    }
    const { resource } = route
    const identity = await check(request.headers, request.id, resource?.audience).catch(
      (error: Failure) => {
        throw resource ? withChallenge(error, resource.challenge(request.headers)) : error
      }
    )
    meantFor(request, identity)
    request.identity = { ...identity, admin: admins.has(identity.uid) }
  })
}

function withChallenge(failure: Failure, challenge: string): Failure {
  const { code, message, headers, cause } = failure
  if (code !== 'UNAUTHENTICATED') return failure
  return unauthenticatedFailure(message, `${headers['www-authenticate']}, ${challenge}`, cause)
}

/**
 * Somebody else may have signed in since a page wrote what it sends: in another tab, or with
 * another token.
 * @throws {Failure} USER_CHANGED where X-User-Uid names another than the caller
 */
function meantFor({ headers }: FastifyRequest, { uid }: Identity): void {
  const named = headers['x-user-uid']
  if (named === undefined || named === uid || named === encodeURIComponent(uid)) return
  throw new Failure(
    'USER_CHANGED',
    `Nothing was done: the request is meant for user ${JSON.stringify(named)}, but you are signed in as ${JSON.stringify(uid)}`
  )
}

/** How callers are known, and who of them may see and lock. */
interface Policy {
  check?: Check
  access?: Access
}

async function policyOf(
  fastify: FastifyInstance,
  config: Config,
  refusals: Refusals,
  time: Time
): Promise<Policy> {
  const {
    auth,
    cms: { jsonapiPath, cookieNames }
  } = config
  switch (auth?.kind) {
    case undefined:
      return {}
    case 'jwt': {
      // It takes 22 ms of CPU and 4 MiB to load.
      const { jwtCheck } = await import('../../lib/auth/jwt.ts')
      return { check: jwtCheck(auth.jwt, time), access: claimAccess }
    }
    case 'drupal': {
      const { http, questions } = openQuestions(fastify, config, { asker: 'AUTH=drupal', refusals })
      const { openTypes } = config.contentModel
      return {
        check: drupalCheck({ http, jsonapiPath, cookieNames, refusals }),
        access: createCmsAccess({ questions, refusals, openTypes })
      }
    }
  }
}

/**
 * Moves a token from the query to Authorization, where everything else looks for it, also what
 * passes it on to the CMS.
 * @returns whether there was one
 */
function takeQueryToken({ headers, query }: FastifyRequest): boolean {
  const token = queryToken(query as Record<string, unknown>, headers.authorization)
  if (token === undefined) return false
  headers.authorization = `Bearer ${token}`
  delete (query as Record<string, unknown>)['access_token']
  return true
}

function uidOf(this: FastifyRequest): string | undefined {
  if (this.server.authenticates) return this.identity?.uid
  const uid = this.headers['x-user-uid']
  if (uid !== undefined && !VISIBLE.test(String(uid))) {
    throw new Failure(
      'BAD_REQUEST',
      'headers/x-user-uid must be 1 to 3060 visible characters of ASCII'
    )
  }
  return uid as string | undefined
}

export default fp(auth, { name: 'auth', dependencies: ['observers'], fastify: '5.x' })
