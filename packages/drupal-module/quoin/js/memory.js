/**
 * What a tab remembers of a form while no lock has it: between the moment in which the form is sent
 * and the next page, and what was put aside for somebody else.
 */

/** For how long, in milliseconds. */
const KEPT_MS = 10 * 60_000

/** A tab that gives no storage remembers nothing. */
export function createMemory(key) {
  const name = `quoin.${key}`

  function read() {
    try {
      const { at, fields } = JSON.parse(sessionStorage.getItem(name))
      return Date.now() - at < KEPT_MS ? fields : {}
    } catch {
      return {}
    }
  }

  function write(fields) {
    try {
      sessionStorage.setItem(name, JSON.stringify({ at: Date.now(), fields }))
    } catch {
      // The text is in the form, and in its lock.
    }
  }

  return {
    read,
    write,
    /** Keeps the text of one field, or forgets it. */
    keep: (fieldName, text) =>
      write({ ...read(), [fieldName]: text === undefined ? undefined : { text } })
  }
}
