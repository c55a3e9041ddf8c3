import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../lib/errors.ts'
import type { History } from '../lib/saves/history.ts'

/**
 * The journal, for who may edit an edition: its entries show earlier values of fields.
 * @param fastify a scope with editions
 * @param id integer id or uuid
 * @throws {Failure} NOT_FOUND without a journal; as `Access.demand`
 */
export async function demandJournal(
  { boards, history, journalAccess }: FastifyInstance,
  request: Pick<FastifyRequest, 'demand' | 'caller'>,
  id: string
): Promise<History> {
  if (!history) throw new Failure('NOT_FOUND', 'There is no journal: JOURNAL_DAYS is 0')
  const edition = boards.edition(id)
  await request.demand('edit', edition)
  await journalAccess?.demand('edit', edition, {
    user: { uid: '', admin: false },
    caller: request.caller
  })
  return history
}
