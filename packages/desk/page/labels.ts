import type { Item } from './settings.ts'
import { say } from './texts.ts'

/** What the service tells of what an edition refers to, by uuid. */
export interface Labels {
  data: Record<string, string>
  /** Of what can be published. */
  published: Record<string, boolean>
  /** Urls of the images of articles. */
  images: Record<string, string>
  sections: Record<string, string>
}

/** What an edition refers to is called, and whether it is published, as far as `ask` tells it. */
export function createLabels({
  ask,
  onChange
}: {
  ask: () => Promise<Labels>
  onChange: () => void
}) {
  const labels = new Map<string, string>()
  let published: Record<string, boolean> = {}
  let images: Record<string, string> = {}
  let sections: Record<string, string> = {}

  async function load(): Promise<void> {
    const answer = await ask()
    for (const [uuid, label] of Object.entries(answer.data)) labels.set(uuid, label)
    published = { ...published, ...answer.published }
    images = { ...images, ...answer.images }
    sections = { ...sections, ...answer.sections }
  }

  return {
    /** The label of a referenced entity. Without one its number, and why, if that is known. */
    titleOf(item: Item | undefined): string {
      const label = labels.get(String(item?.['target_uuid']))
      const id = String(item?.['target_id'] ?? say('unknownNumber'))
      return String(
        label ||
          item?.['alt'] ||
          say(label === '' ? 'articleNumberHidden' : 'articleNumber', { id })
      )
    },
    knows: (item: Item): boolean => labels.has(String(item['target_uuid'])),
    /** Whether it is published; undefined where that is not told. */
    isPublished: (item: Item): boolean | undefined => published[String(item['target_uuid'])],
    imageOf: (item: Item): string | undefined => images[String(item['target_uuid'])],
    sectionOf: (item: Item): string | undefined => sections[String(item['target_uuid'])],
    /** What something is called; empty or undefined where that is not told. */
    nameOf: (item: Item): string | undefined => labels.get(String(item['target_uuid'])),
    /** Takes in what something is called that is about to be referred to. */
    learn(
      item: Item,
      label: string,
      {
        isPublished,
        image,
        section
      }: {
        isPublished?: boolean | undefined
        image?: string | undefined
        section?: string | undefined
      } = {}
    ): void {
      const uuid = String(item['target_uuid'])
      labels.set(uuid, label)
      if (isPublished !== undefined) published = { ...published, [uuid]: isPublished }
      if (image !== undefined) images = { ...images, [uuid]: image }
      if (section !== undefined) sections = { ...sections, [uuid]: section }
    },
    /** Asks what these are called, where there is something new among them. */
    async load(items: Item[]): Promise<void> {
      const uuids = items.map((item) => String(item['target_uuid']))
      if (uuids.every((uuid) => labels.has(uuid))) return
      await load()
      for (const uuid of uuids) if (!labels.has(uuid)) labels.set(uuid, '')
      onChange()
    }
  }
}
