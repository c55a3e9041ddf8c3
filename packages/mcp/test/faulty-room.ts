import type { Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'
import { openLine, type Line } from './line.ts'
import { openNewsroom, planner, type Newsroom } from './newsroom.ts'

export const LOCK = '/api/cloud/data-state/publisher_container/1'
export const MINE = 'agent:planner:7'
export const codeOf = ({ isError, body }: { isError: boolean; body: any }): string => (isError ? body.error.code : 'done')

export interface FaultyRoom extends Newsroom {
  toStore: Line
  toCms: Line
}

/** A newsroom whose lines to the store and to the CMS can fail. */
export async function openFaulty(t: Test, env: Record<string, string> = {}): Promise<FaultyRoom> {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const [toStore, toCms] = [await openLine(t, endpoint), await openLine(t, await cms.listen())]
  const room = await openNewsroom(t, {
    env: { writesPerMinute: '1000', DYNAMODB_ENDPOINT: toStore.url, CMS_URL: toCms.url, ...env }
  })
  return { ...room, toStore, toCms }
}

export function heal({ toStore, toCms }: FaultyRoom): void {
  toStore.fate = () => 'answered'
  toCms.fate = () => 'answered'
}

export async function editOf({ call }: FaultyRoom, value: string) {
  const { tag } = (await call('read_edition', { id: '1' })).body
  return { id: '1', field: 'title', value, tag }
}

/** Where a text of the agent is: in the edition, in a lock, or among what is kept. */
export async function placesOf({ rest }: FaultyRoom, text: string) {
  const { title } = (await rest('GET', '/api/collection/1')).body
  const locks = (await rest('GET', LOCK)).body.data.Items as any[]
  const drafts = (await rest('GET', `${LOCK}/drafts`, { headers: planner })).body.data.Items as any[]
  return {
    isSaved: title[0].value === text,
    lock: locks.find(({ fieldName }) => fieldName === 'title'),
    isKept: [...locks, ...drafts].some(({ payload }) => payload === text),
    others: locks.filter(({ userData }) => userData.uid !== MINE).map(({ payload }) => payload)
  }
}
