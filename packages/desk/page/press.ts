/**
 * What ends a press before its own event has been handled: the page shows at once what the press
 * has changed.
 */
const AT_ONCE = ['click', 'drop', 'keydown'] as const

/**
 * Whether a button of the mouse, a finger or a pen is down, or something is being dragged. Nothing
 * may move meanwhile: a click goes to the element that is under both the press and its release
 * (Pointer Events 3, "click").
 * @param onRelease told that it is over, after the page has handled what came of it
 * @param inside what has the controls: a tree of its own keeps their changes to itself
 * @param signal ends the watch
 */
export function createPress(
  onRelease: () => void,
  inside: EventTarget = window,
  signal = new AbortController().signal
) {
  const options = { capture: true, signal }
  let isDown = false
  let isDragging = false
  let ending: ReturnType<typeof setTimeout> | undefined

  function end(): void {
    isDown = false
    isDragging = false
  }

  function endSoon(): void {
    // The click follows its pointerup within the same task.
    ending = setTimeout(() => {
      end()
      onRelease()
    })
  }

  addEventListener(
    'pointerdown',
    ({ isPrimary, button }) => {
      if (!isPrimary || button !== 0) return
      clearTimeout(ending)
      isDown = true
    },
    options
  )
  addEventListener(
    'dragstart',
    () => {
      isDragging = true
    },
    options
  )
  for (const name of AT_ONCE) addEventListener(name, end, options)
  // Browsers tell nothing else of the release in the list of a select. A text says so too, when a
  // press elsewhere leaves it.
  inside.addEventListener(
    'change',
    ({ target }) => {
      if (target instanceof HTMLSelectElement) end()
    },
    options
  )
  for (const name of ['pointerup', 'dragend'] as const) addEventListener(name, endSoon, options)
  // A drag takes the pointer away; so does a finger that scrolls, and then the press is over.
  addEventListener(
    'pointercancel',
    () => {
      if (!isDragging) endSoon()
    },
    options
  )
  // It was released where this page is not told, such as outside the window.
  addEventListener(
    'pointermove',
    ({ buttons }) => {
      if (isDown && buttons === 0) endSoon()
    },
    options
  )

  return {
    get isDown() {
      return isDown || isDragging
    }
  }
}
