import type { Edition, Item } from './settings.ts'

export type Samples = ReturnType<typeof createSamples>

/**
 * What fields look like where they have a value: an empty one does not tell what it is.
 * @param ask what the empty fields of an edition hold in others
 */
export function createSamples(ask: (id: string) => Promise<Record<string, Item[]>>) {
  const examples = new Map<string, Item[]>()
  const answers = new Map<string, Promise<void>>()

  function learnFrom(edition: Edition): void {
    for (const [name, items = []] of Object.entries(edition)) {
      if (items.length > (examples.get(name)?.length ?? 0)) examples.set(name, items)
    }
  }

  /**
   * Learns what others show in the empty fields of an edition. Where that cannot be told, the next
   * call asks again.
   */
  function look(id: string): Promise<void> {
    const answer =
      answers.get(id) ??
      ask(id).then(learnFrom, () => {
        answers.delete(id)
      })
    answers.set(id, answer)
    return answer
  }

  return {
    of: (name: string): Item[] => examples.get(name) ?? [],
    /** Asks for an edition that is still being read, where nothing is known yet. */
    prepare(id: string): void {
      if (examples.size === 0) look(id)
    },
    /**
     * Learns from an edition, and from others where it has empty fields that nothing is known of.
     */
    async learn(id: string, edition: Edition): Promise<void> {
      learnFrom(edition)
      if (!Object.keys(edition).every((name) => examples.has(name))) await look(id)
    }
  }
}
