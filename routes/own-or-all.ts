import type { FastifyRequest } from 'fastify'
import type { Right } from '../lib/access/access.ts'
import type { User } from '../lib/auth/identity.ts'
import type { Entity } from '../lib/locks/schemas.ts'

/**
 * Who asks for what users have left at an entity. A user sees their own. An administrator with a
 * right to the entity sees that of others too.
 * @param uid whose is asked for, if the query says so
 * @throws {Failure} as `request.may`
 */
export async function askingFor(
  right: Right,
  request: Pick<FastifyRequest, 'identity' | 'may'>,
  entity: Entity,
  uid: string | undefined
): Promise<User | undefined> {
  const { identity: user } = request
  if (!user?.admin || uid === user.uid) return user
  return { ...user, admin: await request.may(right, entity) }
}
