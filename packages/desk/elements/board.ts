import { boardView } from '../page/board-view.ts'
import type { Part, PartContext } from './context.ts'
import { openPart } from './part.ts'

/** What an element does not tell: notifications of the system, and other windows. */
const notifier = { isOpen: false, ask: async () => {}, tell: () => {} }
const windows = { isElsewhere: () => false, show: () => {} }

/** Fills `<quoin-board>`: who edits what in an edition and its articles, and who looks on. */
export function open(context: PartContext): Part {
  return openPart(context, {
    view: (session, { settings: { model }, user: { uid } }) =>
      boardView(session, { model, uid, notifier, windows }),
    fieldsOf: () => []
  })
}
