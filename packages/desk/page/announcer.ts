/**
 * How soon after another a text is said along with it, in milliseconds. By itself it would cut the
 * other off.
 */
const ALONG_MS = 100

/**
 * Says something to those who do not see the page. The same text twice is said twice.
 * @param said the live region
 */
export function createAnnouncer(said: Element): (text: string) => void {
  let announcedAt = -Infinity

  return (text) => {
    const before = said.textContent
    const now = performance.now()
    const isAlong = now - announcedAt < ALONG_MS
    announcedAt = now
    said.textContent = isAlong
      ? `${before.replace(/\.?\u00a0?$/, '')}. ${text}`
      : before === text
        ? `${text}\u00a0`
        : text
  }
}
