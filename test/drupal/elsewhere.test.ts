import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

const SECOND_MS = 1100
const value = (text: string) => [{ value: text }]

t.test('what becomes of a save in Drupal between two saves through Quoin', { timeout: 600_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const service = await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint })
  t.teardown(() => service.close())
  const [editor, other] = [await signIn(site, 'editor'), await signIn(site, 'admin')]
  const save = (body: object, headers: Record<string, string> = {}) => quoin(service, editor, 'POST', '/api/collection/1', body, headers)
  const saveInDrupal = async (body: object) => {
    const answer = await core(site, other, 'PATCH', '/publisher_container/1', { type: [{ target_id: 'daily' }], ...body })
    t.equal(answer.status, 200, 'saved in Drupal')
  }
  const journal = async () => {
    const { data } = (await quoin(service, editor, 'GET', '/api/collection/1/journal')).body
    return data.filter(({ kind }: { kind: string }) => kind === 'update')
  }
  t.match(await save({ title: value('First') }), { status: 200 })
  t.match(await save({ title: value('Second') }), { status: 200, body: { title: value('Second') } })
  const count = (await journal()).length

  await sleep(SECOND_MS)
  await saveInDrupal({ field_key: value('elsewhere') })
  t.match(
    await save({ title: value('Mine') }),
    { status: 200, body: { title: value('Mine'), field_key: value('elsewhere') } },
    'both are saved'
  )

  await sleep(SECOND_MS)
  await saveInDrupal({ title: value('Theirs') })
  t.match(await save({ title: value('Mine again') }), { status: 200, body: { title: value('Mine again') } }, 'mine is saved')
  const entries = await journal()
  t.equal(entries.length, count + 2, 'with one entry each')
  t.match(entries[0], { outcome: 'saved', fields: { title: { before: value('Theirs') } } })

  const { headers } = await quoin(service, editor, 'GET', '/api/collection/1')
  const ifMatch = { 'if-match': String((headers as Record<string, unknown>)['etag']) }
  await saveInDrupal({ title: value('Theirs at once') })
  t.match(await save({ title: value('Late') }, ifMatch), { status: 412 }, 'whatever the second')
  t.match((await core(site, other, 'GET', '/publisher_container/1')).body, { title: value('Theirs at once') })

  const { etag } = (await quoin(service, editor, 'GET', '/api/collection/1')).headers as Record<string, string>
  const saved = await save({ title: value('In a row') }, { 'if-match': etag! })
  t.match(saved, { status: 200, body: { title: value('In a row') } })
  t.match((await core(site, other, 'GET', '/publisher_container/1')).body, { title: value('In a row'), field_key: value('elsewhere') })
})
