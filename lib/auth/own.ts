import { agentOf } from '../agents.ts'
import { Failure, texts } from '../errors.ts'
import type { User } from './identity.ts'

/** Who a lock is taken for, as a request says it. */
interface UserData {
  uid?: string | number
  name?: string
  agent?: unknown
  principal?: unknown
}

/**
 * The `userData` of a request, with the caller's own uid and, where it is known, the caller's own
 * name in place of those sent. Without a caller (AUTH=none) these stay as they are; the schema then
 * demands the uid. Of an agent, and of nobody else, it says so: `agent` has its name, `principal`
 * the uid of the user that it works for.
 * @throws {Failure} FORBIDDEN where it names somebody else, also for an administrator; BAD_REQUEST
 *   for a uid that begins as an agent's and is none
 */
export function ownUserData<Data extends UserData>(
  user: User | undefined,
  userData: Data | undefined
): Data & { uid: string | number } {
  if (!user) return marked(userData as Data & { uid: string | number })
  if (userData?.uid !== undefined && String(userData.uid) !== user.uid) {
    throw notYours('body/userData/uid', user)
  }
  return marked({
    ...(userData as Data),
    ...(user.name !== undefined && { name: user.name }),
    uid: user.uid
  })
}

/** With the marks of an agent, and without those that somebody else has sent. */
function marked<Data extends UserData & { uid: string | number }>(userData: Data): Data {
  const { agent: _, principal: __, ...others } = userData
  const agent = agentOf(String(userData.uid))
  return {
    ...others,
    ...(agent && { agent: agent.name, principal: agent.principal })
  } as Data
}

/**
 * Confines a query to the caller's own locks or drafts. The query of an administrator, or of any
 * caller with AUTH=none, stays unchanged.
 * @throws {Failure} FORBIDDEN where it asks for somebody else's
 */
export function ownOnly<Query extends { uid?: string }>(
  user: User | undefined,
  query: Query
): Query {
  if (!user || user.admin) return query
  if (query.uid !== undefined && query.uid !== user.uid) throw notYours('uid', user)
  return { ...query, uid: user.uid }
}

/**
 * The same for a query that discards. A query that names neither a field nor a user stays as it is,
 * and is refused: it must not discard everything of the caller.
 */
export function ownNamedOnly<Query extends { fieldName?: string; uid?: string }>(
  user: User | undefined,
  query: Query
): Query {
  return query.fieldName === undefined && query.uid === undefined ? query : ownOnly(user, query)
}

/**
 * Who settles something of others, as a request says it: the caller. Without one (AUTH=none) it is
 * whom the query names, and nobody is known where it names nobody.
 * @throws {Failure} FORBIDDEN where it names somebody else, also for an administrator
 */
export function ownSettler(
  user: User | undefined,
  { uid, name }: { uid?: string | undefined; name?: string | undefined }
): { uid: string; name?: string | undefined } | undefined {
  if (!user) return uid === undefined ? undefined : { uid, name }
  if (uid !== undefined && uid !== user.uid) throw notYours('uid', user)
  return { uid: user.uid, name: user.name }
}

function notYours(where: string, { uid }: User): Failure {
  return new Failure('FORBIDDEN', texts.notYourUid(where, uid))
}
