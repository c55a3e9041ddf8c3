import type { Client } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { labelKeyOf } from './finder.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'

/** How many titles are asked for in one session, each by a request. */
const MOST = 100

export interface TitlesDeps {
  read: Client['editions']['read']
  lists: Model['lists']
  /** Whether the title of something is known. */
  knows: (item: Item) => boolean
  /** Called with the title of something, which is empty if it is deleted or hidden. */
  learn: (item: Item, title: string) => void
  onChange: () => void
}

/**
 * The titles of articles that were in an edition and are not in it now. The service tells only the
 * names of those that are in it.
 */
export function createTitles({ read, lists, knows, learn, onChange }: TitlesDeps) {
  const uuids = new Set<string>()
  const listOf = ({ target_type: type }: Item) =>
    Object.keys(lists).find((list) => lists[list]!.entityType === type)

  /** Asks for one after the other, each once. */
  async function look([item, ...others]: Item[]): Promise<void> {
    if (!item) return
    const uuid = String(item['target_uuid'] ?? '')
    const list = listOf(item)
    if (
      uuid !== '' &&
      list !== undefined &&
      !uuids.has(uuid) &&
      uuids.size < MOST &&
      !knows(item)
    ) {
      uuids.add(uuid)
      try {
        const { edition } = await read(uuid, { list })
        learn(item, valueOf(edition as Edition, labelKeyOf(lists[list]!)))
      } catch (error) {
        if (failureOf(error).status === 404) learn(item, '')
      }
      onChange()
    }
    return look(others)
  }

  return { look }
}
