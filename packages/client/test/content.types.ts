/**
 * The types of the content, and mistakes that must not compile: `npm run types` fails where one of
 * them does. Nothing runs this file.
 */
import { createClient, type Client, type Edition, type Reference, type Time, type Value } from '../src/client.ts'

interface Daily {
  id: Array<Value<number>>
  type: Array<Reference<'daily'>>
  title: Array<Value<string>>
  changed: Time[]
  field_pages: Array<Value<number>>
  field_articles: Reference[]
  field_other: unknown
}
interface Special {
  id: Array<Value<number>>
  type: Array<Reference<'special'>>
  title: Array<Value<string>>
  field_occasion: Array<Value<string>>
}
interface Article {
  nid: Array<Value<number>>
  title: Array<Value<string>>
}
type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false

const { editions }: Client<Daily | Special, { article: Article }> = createClient<Daily | Special, { article: Article }>()
const one = createClient<Daily>().editions
const any = createClient().editions

export async function reads(): Promise<void> {
  const { edition } = await one.read(12)
  const pages: number | undefined = edition.field_pages[0]?.value
  const article: number | null | undefined = edition.field_articles[0]?.target_id
  // @ts-expect-error a field that there is not
  console.log(edition.field_page, pages, article)
  // @ts-expect-error what is not known is nothing yet
  console.log(edition.field_other.length)

  const created: Same<Awaited<ReturnType<typeof one.create>>['edition'], Daily> = true
  const { edition: special } = await editions.create('special', { title: [{ value: 'Christmas' }] })
  const occasion: string | undefined = special.field_occasion[0]?.value
  const { edition: either } = await editions.update(12, {})
  const title: string | undefined = either.title[0]?.value
  // @ts-expect-error only some of the editions have it
  console.log(either.field_pages)
  for (const { edition } of [await editions.close(12), await editions.arrange(12, []), await editions.upsert('daily', 'k', {})]) {
    console.log(edition.title, created, occasion, title)
  }
}

export async function rows(bundle: string, open: 'daily' | undefined): Promise<void> {
  for await (const { editions: all } of editions.search()) console.log(all[0]?.title)
  for await (const { editions: found } of editions.search({ bundle: 'special' })) console.log(found[0]?.field_occasion)
  for await (const { editions: found } of editions.search({ bundle: open })) console.log(found[0]?.id)
  for await (const { editions: articles } of editions.search({ bundle: 'article', placed: true })) {
    // @ts-expect-error what the list has are no editions
    console.log(articles[0]?.nid, articles[0]?.id)
  }
  for await (const { editions: found } of editions.search({ bundle })) {
    // @ts-expect-error it may be a list, whose rows have no id of this name
    console.log(found[0]?.title, found[0]?.id)
  }
  const { edition: article } = await editions.read(9, { list: 'article' })
  const { edition: entity } = await editions.read(9, { list: 'picture' })
  const same: [Same<typeof article, Article>, Same<typeof entity, Edition>] = [true, true]
  console.log(same, article, entity)
}

export async function saves(): Promise<void> {
  await one.update(12, { title: [{ value: 'Monday' }], field_articles: [{ target_id: 4 }, { target_uuid: 'x' }], field_other: 5 })
  const { edition } = await one.read(12)
  await one.update(12, edition)
  // @ts-expect-error a bare value
  await one.update(12, { title: 'Monday' })
  // @ts-expect-error a value of another type
  await one.update(12, { title: [{ value: 5 }] })
  // @ts-expect-error a misspelt member
  await one.update(12, { title: [{ vlaue: 'Monday' }] })
  // @ts-expect-error an item without its value
  await one.update(12, { title: [{}] })
  // @ts-expect-error a reference by neither id
  await one.update(12, { field_articles: [{ target_type: 'node' }] })
  // @ts-expect-error a field that there is not
  await one.create('daily', { field_page: [{ value: 5 }] })
  // @ts-expect-error a field of another bundle
  await editions.create('daily', { field_occasion: [{ value: 'Christmas' }] })
  // @ts-expect-error a field of another bundle
  await editions.upsert('special', 'key', { field_pages: [{ value: 5 }] })
}

export async function untyped(): Promise<void> {
  const { edition } = await any.read(12)
  const title: string | undefined = edition.title?.[0]?.value
  const id: number | undefined = edition.id?.[0]?.value
  const other: unknown = edition['field_other']?.[0]?.['value']
  // @ts-expect-error a title is a text
  const count: number | undefined = edition.title?.[0]?.value
  await any.update(12, { title: [{ value: title }], field_other: [{ value: [id, other, count] }] })
}
