import type { Item } from './settings.ts'

/** What an edition refers to is called, by uuid, as far as `ask` tells it. */
export function createLabels ({ ask, changed }: { ask: () => Promise<Record<string, string>>, changed: () => void }) {
  const labels = new Map<string, string>()
  return {
    /** What something is called that the edition refers to; its number where that is not told, and why where that is known. */
    titleOf (item: Item | undefined): string {
      const label = labels.get(String(item?.['target_uuid']))
      const number = `No. ${item?.['target_id'] ?? 'unknown'}`
      return String(label || item?.['alt'] || (label === '' ? `${number}, deleted or not for you to see` : number))
    },
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
