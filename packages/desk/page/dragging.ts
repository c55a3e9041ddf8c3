import { gapAt, gapBeside, scrollSpeed } from './gaps.ts'
import type { Gap } from './operations.ts'
import type { DragContent, Drop } from './order.ts'

/** The event that tells a running order what is dropped into one of its gaps. */
const DROP = 'articles-drop'

/** How far the pointer goes before a press becomes a drag, in pixels. */
const SLOP = 5

/** How far beside a running order its gaps still are, in pixels. */
const BESIDE = 24

/** What stands still while the page scrolls. */
const STILL = ['.bar', '.savebar'] as const

interface Drag {
  row: HTMLElement
  content: DragContent
  title: string
  /** Where the pointer was pressed, and where it is. */
  start: { x: number; y: number }
  x: number
  y: number
  /** What goes along with the pointer, once it has moved. */
  label?: HTMLElement
  /** Where the content would be dropped now. */
  drop?: { section: HTMLElement; gap: Gap } | undefined
  isOver: boolean
}

/**
 * Drags a row until its pointer is released, or Escape is pressed. A line lies in the gap in which it
 * would be dropped, and the running order is told of the drop.
 */
export function drag(
  row: HTMLElement,
  { pointerId, clientX: x, clientY: y }: PointerEvent,
  content: DragContent,
  title: string
): void {
  const state: Drag = { row, content, title, start: { x, y }, x, y, isOver: false }
  const ended = new AbortController()
  const options = { capture: true, signal: ended.signal }
  function end(isDropped: boolean): void {
    ended.abort()
    finish(state, isDropped)
  }
  addEventListener(
    'pointermove',
    (event) => {
      if (event.pointerId === pointerId) move(state, event)
    },
    options
  )
  addEventListener('pointerup', (event) => event.pointerId === pointerId && end(true), options)
  addEventListener('pointercancel', () => end(false), options)
  addEventListener('blur', () => end(false), { signal: ended.signal })
  addEventListener('contextmenu', (event) => event.preventDefault(), options)
  addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Escape' || !state.label) return
      event.preventDefault()
      event.stopPropagation()
      end(false)
    },
    options
  )
}

function move(state: Drag, { clientX, clientY, pointerId }: PointerEvent): void {
  ;[state.x, state.y] = [clientX, clientY]
  const { row, start } = state
  if (!state.label) {
    if (Math.hypot(clientX - start.x, clientY - start.y) < SLOP) return
    begin(state, pointerId)
  }
  state.label!.style.translate = `${clientX}px ${clientY}px`
  aim(state)
  row.ownerDocument.getSelection()?.removeAllRanges()
}

function begin(state: Drag, pointerId: number): void {
  const { row, content, title } = state
  // A frame within the page, such as a preview, would keep the pointer to itself.
  row.setPointerCapture(pointerId)
  for (const one of rowsOf(state)) one.classList.add('is-dragged')
  if (!('tokens' in content)) row.classList.add('is-dragged')
  state.label = row.ownerDocument.createElement('div')
  state.label.className = 'drag-label'
  state.label.textContent = title
  scopeOf(row).append(state.label)
  let before = performance.now()
  function frame(now: number): void {
    if (state.isOver) return
    scroll(state, now - before)
    before = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
}

/** Scrolls the page while the pointer is near its edge and there is more of the order beyond. */
function scroll(state: Drag, ms: number): void {
  const [bar, savebar] = STILL.map((selector) => {
    const element = state.row.ownerDocument.querySelector(selector)
    return element && getComputedStyle(element).position === 'sticky'
      ? element.getBoundingClientRect()
      : undefined
  })
  const [top, bottom] = [bar?.bottom ?? 0, Math.min(innerHeight, savebar?.top ?? innerHeight)]
  const speed = scrollSpeed(state.y, top, bottom)
  const boxes = sectionsFor(state).map((section) => section.getBoundingClientRect())
  const isMore = boxes.some((box) => (speed < 0 ? box.top < top : box.bottom > bottom))
  if (speed === 0 || !isMore) return
  scrollBy({ top: (speed * ms) / 1000, behavior: 'instant' })
  aim(state)
}

/** Where the rows are: the page, or the element that has them in a tree of its own. */
function scopeOf(row: HTMLElement): ParentNode {
  const root = row.getRootNode()
  return root instanceof ShadowRoot ? root : row.ownerDocument.body
}

/** The rows that are dragged. */
function rowsOf({ row, content }: Drag): HTMLElement[] {
  if (!('tokens' in content)) return []
  return [...row.parentElement!.querySelectorAll<HTMLElement>('[data-token]')].filter((one) =>
    content.tokens.includes(one.dataset['token']!)
  )
}

/** The running orders into which it may be dropped. */
function sectionsFor({ row, content }: Drag): HTMLElement[] {
  return [...scopeOf(row).querySelectorAll<HTMLElement>('.order:not(.is-locked)')].filter(
    ({ dataset }) => !('order' in content) || content.order === dataset['field']
  )
}

/** Finds the gap that the pointer is at, and draws its line. */
function aim(state: Drag): void {
  const { content, x, y } = state
  const section = sectionsFor(state).find((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect()
    const isBeside = x >= left - BESIDE && x <= right + BESIDE
    return isBeside && y >= top - BESIDE && y <= bottom + BESIDE
  })
  clear(state)
  if (!section) return
  const rows = [...section.querySelectorAll<HTMLElement>('ol > li')]
  function middleOf(index: number): number {
    const { top, height } = rows[index]!.getBoundingClientRect()
    return top + height / 2
  }
  const at = gapAt(rows.length, middleOf, y)
  const moved = 'tokens' in content ? content.tokens : []
  const tokens = rows.map((one) => one.dataset['token']!)
  const gap = gapBeside(tokens, moved, at)
  if (!gap) return
  state.drop = { section, gap }
  const seen = rows[at] ?? rows.at(-1) ?? section.querySelector<HTMLElement>('.invitation')
  if (seen) seen.dataset['gap'] = rows[at] ? 'before' : 'after'
}

function clear(state: Drag): void {
  const marked = state.drop?.section.querySelector<HTMLElement>('[data-gap]')
  delete marked?.dataset['gap']
  state.drop = undefined
}

function finish(state: Drag, isDropped: boolean): void {
  const { row, content, label, drop } = state
  state.isOver = true
  if (!label) return
  label.remove()
  clear(state)
  for (const one of [row, ...rowsOf(state)]) one.classList.remove('is-dragged')
  // The release is also a click on what the drag began at.
  const ignore = (event: Event) => {
    event.preventDefault()
    event.stopPropagation()
  }
  addEventListener('click', ignore, { capture: true, once: true })
  setTimeout(() => removeEventListener('click', ignore, { capture: true }))
  if (!isDropped || !drop) return
  const detail: Drop = { content, gap: drop.gap }
  drop.section.dispatchEvent(new CustomEvent(DROP, { detail }))
}
