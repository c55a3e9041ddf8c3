import type { Saved } from '../../client/src/client.ts'
import type { Item } from './settings.ts'
import { say } from './texts.ts'
import { nameOf, type Somebody } from './words.ts'

/** How long what somebody else has moved is marked, in milliseconds. */
const MARKED_MS = 2000

/** How long changes are gathered that are said in one sentence, in milliseconds. */
const BURST_MS = 1000

const WORDS = { move: 'otherMoved', insert: 'otherAdded', remove: 'otherRemoved' } as const

interface Change {
  op: keyof typeof WORDS
  item: Item
  name: string
}

export interface MovedDeps {
  /** Those who are known by their names. */
  people: () => Somebody[]
  titleOf: (item: Item) => string
  onNews: () => void
  announce: (text: string) => void
}

/** What others have just done to running orders: it is marked for a while, and said. */
export function createMoved({ people, titleOf, onNews, announce }: MovedDeps) {
  const marks = new Map<unknown, string>()
  let changes: Change[] = []
  let telling: ReturnType<typeof setTimeout> | undefined

  function tell(): void {
    const [{ op, item, name } = changes[0]!] = changes
    const names = [...new Set(changes.map(({ name }) => name))].join(', ')
    announce(
      changes.length === 1
        ? say(WORDS[op], { name, title: titleOf(item) })
        : say('othersChanged', { names, count: changes.length })
    )
    changes = []
    telling = undefined
  }

  return {
    /** Who has moved or added an article just now. */
    by: (item: Item): string | undefined => marks.get(item['target_id']),

    note({ uid, name }: Pick<Saved, 'uid' | 'name'>, op: Change['op'], item: Item): void {
      if (uid === undefined) return
      const somebody = people().find((one) => String(one.uid) === uid) ?? { uid, name }
      const who = nameOf(name === undefined ? somebody : { uid, name })
      changes.push({ op, item, name: who })
      telling ??= setTimeout(tell, BURST_MS)
      if (op === 'remove') return
      const id = item['target_id']
      marks.set(id, who)
      setTimeout(() => {
        marks.delete(id)
        onNews()
      }, MARKED_MS)
    },

    end: () => clearTimeout(telling)
  }
}
