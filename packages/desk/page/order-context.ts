import type { LockView } from '../../client/src/client.ts'
import { partsOf } from './board.ts'
import type { Session } from './edition.ts'
import type { Order } from './order.ts'
import type { OrderContext } from './order-view.ts'
import { lockIdOf, type Item, type Settings } from './settings.ts'
import type { Somebody } from './words.ts'

/** What the view of a running order shows and does, of the edition that has it. */
export function orderContextOf(
  session: Session,
  order: Order,
  { model, cms }: Pick<Settings, 'model' | 'cms'>
): OrderContext {
  const { titleOf, isPublished, moverOf, imageOf, sectionOf, onChange } = session
  const lists = Object.values(model.lists)
  const people = peopleByEntity(session.board)
  return {
    titleOf,
    isPublished,
    moverOf,
    imageOf,
    sectionOf,
    onChange,
    hasImages: lists.some(({ image }) => image !== undefined),
    hasSections: lists.some(({ section }) => section !== undefined),
    addressOf: ({ url }) =>
      typeof url === 'string'
        ? url.startsWith('/')
          ? cms + url
          : new URL(url, cms).href
        : undefined,
    peopleAt(item: Item) {
      const type = String(item['target_type'])
      const key = `${model.lockTypes[type] ?? type}/${lockIdOf(item, model)}`
      return [...(people.get(key)?.values() ?? [])]
    },
    ...session.acts(order)
  }
}

/** Who has locks on each entity, each once. */
function peopleByEntity(board: LockView[]): Map<string, Map<string, Somebody>> {
  const people = new Map<string, Map<string, Somebody>>()
  for (const lock of board) {
    const { uid, name } = lock.userData
    const key = `${lock.entityType}/${partsOf(lock).id}`
    people.set(key, (people.get(key) ?? new Map()).set(uid, { uid, name }))
  }
  return people
}
