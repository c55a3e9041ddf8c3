import type { DragContent } from './order.ts'

/** The event that tells the page that a script of it could not be loaded. */
export const PART_MISSING = 'part-missing'

/** What has a press of its own. */
const PRESSED = 'button, input, select, textarea'

/**
 * To be called when a row is pressed: the row is dragged from there. A mouse may press it anywhere, a
 * finger or a pen its grip, since elsewhere they scroll the page. The script of dragging comes with
 * the first press.
 * @param title what is dragged, as the reader sees it beside the pointer
 */
export async function startDrag(
  event: PointerEvent,
  content: DragContent,
  title: string
): Promise<void> {
  const { isPrimary, button, pointerType } = event
  const [row, target] = [event.currentTarget as HTMLElement, event.target as Element]
  const isGrabbed = pointerType === 'mouse' || target.closest('.grip') !== null
  if (!isPrimary || button !== 0 || !isGrabbed || target.closest(PRESSED)) return
  const released = new AbortController()
  for (const name of ['pointerup', 'pointercancel'] as const) {
    addEventListener(name, () => released.abort(), { capture: true, signal: released.signal })
  }
  const part = await import('./dragging.ts').catch(() => undefined)
  if (!part) row.dispatchEvent(new Event(PART_MISSING, { bubbles: true, composed: true }))
  else if (!released.signal.aborted) part.drag(row, event, content, title)
}
