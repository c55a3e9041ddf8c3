import t from 'tap'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { createEditions } from '#lib/editions/editions.ts'
import type { SavedChange } from '#lib/editions/save/told-operations.ts'
import type { OrderOperation } from '#lib/editions/schemas.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { newCaller } from '#lib/http/calls.ts'
import { model } from './fixtures.ts'
import { basic, openNewspaper } from './site.ts'

const editor = newCaller(basic('editor'))
/** The part of a tag that is of the fields. */
const fieldsIn = (tag: string) => tag.split('.')[0]
const move = (id: number): OrderOperation => ({ op: 'move', article: { target_id: id }, at: 'start' })

t.test('a save of operations tells them, and from which state to which they lead', async (t) => {
  const { cmsUrl, http } = await openNewspaper(t)
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  /** What Drupal makes of a save besides what was sent, as modules do. */
  let alter = (_resource: { attributes: Record<string, unknown>; relationships: Record<string, { data: unknown[] }> }) => {}
  const request: Jsonapi['request'] = async (one) => {
    const answer = await jsonapi.request(one)
    if (one.method === 'PATCH') alter((answer.document as { data: never }).data)
    return answer
  }
  const told: SavedChange[] = []
  const site = createSite({ cms: { request }, model, cmsUrl, warn() {} })
  const editions = createEditions({ site, onUpdate: (change) => told.push(change) })
  const body = { type: 'daily', title: [{ value: 'Told' }], field_key: [{ value: 'told' }], status: [{ value: false }] }
  const order = Array.from({ length: 60 }, (_, index) => index + 1).filter((id) => id % 20 !== 0)
  const { id } = await editions.create({ ...body, field_articles: order.map((id) => ({ target_id: id })) }, editor)
  const arrange = async (...operations: OrderOperation[]) => {
    const before = (await editions.read(id, editor)).etag
    const { etag } = await editions.arrange(id, { operations }, editor, { uid: '7', name: 'Anna' })
    return { before, after: etag, ...told.at(-1)! }
  }

  const { before, after, ...change } = await arrange(move(3), move(3), { op: 'remove', article: { target_id: 9 } })
  t.equal(fieldsIn(change.from!), fieldsIn(before), 'whatever the urls of references are')
  t.match(change, { etag: after, uid: '7', name: 'Anna', fields: ['field_articles'] })
  t.strictSame(change.operations, [move(3), { op: 'remove', article: { target_id: 9 } }], 'those that have changed something')
  t.equal((await editions.read(id, editor)).etag, change.etag)

  t.notOk(
    (
      await arrange(
        ...order
          .slice(11)
          .filter((id) => id !== 9)
          .map(move),
        ...order.slice(20, 50).map(move)
      )
    ).from,
    'not too many'
  )
  for (const [what, change] of Object.entries<typeof alter>({
    'another order': ({ relationships }) => {
      relationships['field_articles']!.data.reverse()
    },
    'another field': ({ attributes }) => {
      attributes['field_page_count'] = 77
    },
    'one that nobody had': ({ attributes }) => {
      attributes['field_new'] = 'new'
    }
  })) {
    alter = change
    const { from, operations } = await arrange(move(4), move(5), move(6), move(7))
    t.strictSame([from, operations], [undefined, undefined], `nor where Drupal has saved ${what}`)
    await arrange(move(8))
  }
  alter = () => {}
  await editions.update(id, { title: [{ value: 'Another' }] }, editor)
  t.strictSame([told.at(-1)!.from, told.at(-1)!.fields], [undefined, ['title']], 'nor of any other save')
})
