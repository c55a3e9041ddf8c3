import type { Item } from './settings.ts'

/** What is being dragged: an article of a running order by its token, or one that was found. */
export type DragContent = { order: string; token: string } | { article: Item; title: string }

let content: DragContent | undefined

/** To be called when a drag begins. */
export function startDrag(event: DragEvent, what: DragContent, title: string): void {
  content = what
  event.dataTransfer!.effectAllowed = 'copyMove'
  event.dataTransfer!.setData('text/plain', title)
}

/** What is being dragged now. */
export function contentOfDrag(): DragContent | undefined {
  return content
}

/** To be called when it is dropped, or the drag ends without that. */
export function endDrag(): void {
  content = undefined
}
