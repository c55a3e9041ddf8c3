import type { Item } from './settings.ts'

/** What an edition refers to is called, by uuid, as far as `ask` tells it. */
export function createLabels ({ ask, changed }: { ask: () => Promise<Record<string, string>>, changed: () => void }) {
  const labels = new Map<string, string>()
  return {
    /** What something is called that the edition refers to; its number where that is not told. */
    titleOf: (item: Item | undefined) => String(labels.get(String(item?.['target_uuid'])) || item?.['alt'] || `No. ${item?.['target_id'] ?? 'unknown'}`),
    /** Asks what these are called, where there is something new among them. */
    async load (items: Item[]): Promise<void> {
      const uuids = items.map((item) => String(item['target_uuid']))
      if (uuids.every((uuid) => labels.has(uuid))) return
      const found = await ask()
      for (const uuid of uuids) labels.set(uuid, found[uuid] ?? '')
      changed()
    }
  }
}
