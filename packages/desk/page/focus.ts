/** What has the fields: the page, or a part of it that another page embeds. */
const WHOLE = ':is(main, .part)'
const PLACES = `${WHOLE} [data-field], ${WHOLE} section, ${WHOLE}`

/** The tree that a node stands in: a part that another page embeds has one of its own. */
export function treeOf(node: Node): Document | ShadowRoot {
  const root = node.getRootNode()
  return root instanceof ShadowRoot ? root : document
}

/**
 * The places around the focused element, the innermost first: a field, a part of the page, the
 * page.
 */
export function placesOf(element: Element | null): Element[] {
  const places: Element[] = []
  for (let place = element?.closest(PLACES); place; place = place.parentElement?.closest(PLACES)) {
    places.push(place)
  }
  return places
}

/**
 * The element of a place that takes the focus, without locking a field that nobody has begun to
 * edit.
 */
function targetIn(place: Element): HTMLElement | null {
  if (place.matches(WHOLE)) return place.querySelector('h1')
  if (!place.matches('[data-field]')) return place.querySelector('button')
  const control =
    'input:not(:disabled), select:not(:disabled), textarea, li button[data-to][aria-disabled="false"]'
  return (
    place.querySelector(
      place.matches('.is-held, :has(.changed)')
        ? place.querySelector('.words')
          ? '.words'
          : control
        : '.notes button'
    ) ?? place.querySelector('.notes')
  )
}

/**
 * Gives the focus back after the page was shown anew: to what had it, which loses it where it is
 * moved, or to what has taken its place; else the reader would be at the top of the page.
 */
export function keepFocus(
  element: Element | null,
  places: Element[],
  tree: Document | ShadowRoot = document
): void {
  // A tree of its own has no focused element once that is gone.
  const activeElement = tree.activeElement ?? document.activeElement
  // A control that is disabled loses the focus a moment later.
  if (activeElement !== document.body && activeElement?.matches(':disabled') !== true) return
  if (
    element instanceof HTMLElement &&
    element.isConnected &&
    element !== document.body &&
    !element.matches(':disabled')
  ) {
    element.focus({ preventScroll: true })
    return
  }
  const target = places
    .filter(({ isConnected }) => isConnected)
    .map(targetIn)
    .find(Boolean)
  target?.focus()
}
