import { QuoinError, type Client } from '../client/src/client.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'

/** How many other editions are looked at. */
const LOOKED_AT = 20

export type Samples = ReturnType<typeof createSamples>

/** What fields look like where they have a value: an empty one of another edition does not tell what it is. */
export function createSamples ({ editions }: { editions: Pick<Client['editions'], 'search'> }, { keys }: Pick<Model, 'keys'>) {
  const examples = new Map<string, Item[]>()

  function learn (edition: Edition): void {
    for (const [name, items = []] of Object.entries(edition)) {
      if (items.length > (examples.get(name)?.length ?? 0)) examples.set(name, items)
    }
  }

  return {
    of: (name: string): Item[] => examples.get(name) ?? [],
    /** Learns from an edition, and from others of its bundle (if it has one) where it has empty fields that nothing is known of. */
    async learn (edition: Edition): Promise<void> {
      learn(edition)
      if (Object.keys(edition).every((name) => examples.has(name))) return
      try {
        const { value } = await editions.search({ ...(keys.bundle !== null && { bundle: valueOf(edition, keys.bundle) }), limit: LOOKED_AT }).next()
        for (const other of value?.editions ?? []) learn(other as Edition)
      } catch (error) {
        if (!(error instanceof QuoinError)) throw error
      }
    }
  }
}
