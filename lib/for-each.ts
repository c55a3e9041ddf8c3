/** How many items are worked on at once. */
const IN_FLIGHT = 10

/**
 * Works on all items, several at once: after the last, or after the first error, which it throws.
 */
export async function forEach<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values()
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (const item of waiting) await work(item)
    })
  )
}
