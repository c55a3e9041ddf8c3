import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { isRefusal, type EntityIds, type Right } from '../../lib/access/access.ts'
import { checkLockName, knownLockTypes } from '../../lib/boards/names.ts'
import { lockType } from '../../lib/boards/entities.ts'
import { callerOf } from '../../lib/drupal/credentials.ts'
import type { Entity } from '../../lib/locks/schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Resolves when the caller may view, or edit, an entity; always with AUTH=none.
     * @throws {Failure} as `Access.demand`
     */
    demand(right: Right, entity: Entity): Promise<void>
    /**
     * The same for the entity of a lock, which has to go by its one name.
     * @throws {Failure} BAD_REQUEST where it is another name of the entity, as far as that can be
     *   known
     */
    demandLock(right: Right, entity: Entity): Promise<void>
    /**
     * Whether the caller may.
     * @throws {Failure} AUTH_UNAVAILABLE, CMS_READ_ONLY, CMS_REFUSED where that cannot be found out
     */
    may(right: Right, entity: Entity): Promise<boolean>
    /** The rights that this request was checked for. */
    rights?: Array<[Right, Entity]>
    /**
     * Checks again, for long answers, whether the caller is still authenticated and still has the
     * rights that the request was checked for. True while that cannot be found out.
     */
    isWelcome(): Promise<boolean>
  }
}

/** Decorates requests with what their callers may do. */
async function access(fastify: FastifyInstance, { config }: { config: Config }) {
  const {
    auth,
    cms: { cookieNames },
    contentModel: model,
    enforceLocks
  } = config
  const { access } = fastify
  const namedTypes = namedLockTypes()

  /** The types of locks whose ids are looked at before anybody is asked. */
  function namedLockTypes(): Set<string> {
    if (auth?.kind !== 'drupal') {
      return new Set(enforceLocks ? [lockType(model.entityType, model)] : [])
    }
    return new Set([...knownLockTypes(model)].filter((type) => !model.openTypes.includes(type)))
  }

  async function ask(
    { identity, headers: { authorization, cookie }, id }: FastifyRequest,
    right: Right,
    entity: Entity
  ): Promise<EntityIds | void> {
    return access?.demand(right, entity, {
      user: identity!,
      caller: callerOf({ authorization, cookie }, id, true, cookieNames)
    })
  }

  function note(request: FastifyRequest, right: Right, entity: Entity): void {
    request.rights = [...(request.rights ?? []), [right, entity]]
  }

  fastify.decorateRequest('rights')
  fastify.decorateRequest('demand', async function (right, entity) {
    await ask(this, right, entity)
    note(this, right, entity)
  })
  fastify.decorateRequest('demandLock', async function (right, entity) {
    const ids = await ask(this, right, entity)
    checkLockName(entity, ids ?? undefined, namedTypes.has(entity.type), model)
    note(this, right, entity)
  })
  fastify.decorateRequest('may', async function (right, entity) {
    const [error] = await fastify.to(ask(this, right, entity))
    if (error && !isRefusal(error)) throw error
    return !error
  })
  fastify.decorateRequest('isWelcome', async function () {
    if (!(await this.isKnown())) return false
    const still = await Promise.all(
      (this.rights ?? []).map(([right, entity]) => this.may(right, entity).catch(() => true))
    )
    return still.every(Boolean)
  })
}

export default fp(access, {
  name: 'access',
  dependencies: ['auth', '@fastify/sensible'],
  fastify: '5.x'
})
