/** How many fields are remembered. The oldest go first. */
const MOST = 200

export type Forbidden = ReturnType<typeof createForbidden>

/**
 * The fields that Drupal did not let a user change when they last tried. Drupal may decide for each
 * edition anew, so this is no more than a mark. A browser that forbids localStorage remembers none.
 */
export function createForbidden({
  window,
  uid
}: {
  window: { readonly localStorage: Pick<Storage, 'getItem' | 'setItem'> }
  uid: string
}) {
  const key = `quoin-forbidden/${encodeURIComponent(uid)}`

  let known = read()

  function read(): string[] {
    try {
      const names: unknown = JSON.parse(window.localStorage.getItem(key) ?? '[]')
      return Array.isArray(names) ? names.map(String) : []
    } catch {
      return []
    }
  }

  return {
    /** @param field its bundle and its name */
    has: (field: string): boolean => known.includes(field),
    /** Takes in whether Drupal forbade a field when it was saved. */
    note(field: string, isForbidden: boolean): void {
      if (known.includes(field) === isForbidden) return
      // Other windows write too.
      const others = read().filter((name) => name !== field)
      known = isForbidden ? [...others, field].slice(-MOST) : others
      try {
        window.localStorage.setItem(key, JSON.stringify(known))
      } catch {
        // The browser has no room or forbids it: the field is marked in this window alone.
      }
    }
  }
}
