import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { isRefusal, type Right } from '../lib/access/access.ts'
import { callerOf } from '../lib/jsonapi/credentials.ts'
import type { Entity } from '../lib/locks/schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Resolves when the caller may view, or edit, an entity; always with AUTH=none.
     * @throws {Failure} as `Access.demand`
     */
    demand (right: Right, entity: Entity): Promise<void>
    /** Whether the caller may. @throws {Failure} AUTH_UNAVAILABLE, CMS_READ_ONLY, CMS_REFUSED where that cannot be found out */
    may (right: Right, entity: Entity): Promise<boolean>
    /** The rights that this request was checked for. */
    rights?: Array<[Right, Entity]>
    /**
     * Checks again, for long answers, whether the caller is still authenticated and still has the rights that the request was
     * checked for. True while that cannot be found out.
     */
    isWelcome (): Promise<boolean>
  }
}

/** Decorates requests with what their callers may do. */
async function access (fastify: FastifyInstance, { config: { cms: { cookieNames } } }: { config: Config }) {
  const { access } = fastify

  async function ask ({ identity, headers: { authorization, cookie }, id }: FastifyRequest, right: Right, entity: Entity): Promise<void> {
    await access?.demand(right, entity, { user: identity!, caller: callerOf({ authorization, cookie }, id, true, cookieNames) })
  }

  fastify.decorateRequest('rights')
  fastify.decorateRequest('demand', async function (right, entity) {
    await ask(this, right, entity)
    this.rights = [...this.rights ?? [], [right, entity]]
  })
  fastify.decorateRequest('may', async function (right, entity) {
    const [error] = await fastify.to(ask(this, right, entity))
    if (error && !isRefusal(error)) throw error
    return !error
  })
  fastify.decorateRequest('isWelcome', async function () {
    if (!await this.isKnown()) return false
    const still = await Promise.all((this.rights ?? []).map(([right, entity]) => this.may(right, entity).catch(() => true)))
    return still.every(Boolean)
  })
}

export default fp(access, { name: 'access', dependencies: ['auth', '@fastify/sensible'], fastify: '5.x' })
