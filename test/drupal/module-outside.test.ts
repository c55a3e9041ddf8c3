import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { MODULE_SECRET } from '../boards/fixtures.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { openBrowser } from './forms.ts'
import { enableModule } from './module.ts'
import { nodesJsonapiPath, startNodes, startNodesQuoin, type NodesSite } from './nodes.ts'
import { core, quoin, signIn } from './quoin.ts'

const JSONAPI = { accept: 'application/vnd.api+json', 'content-type': 'application/vnd.api+json' }
const value = (text: string) => [{ value: text }]

/** How Quoin answers Drupal: as it is, late, with rubbish, with another secret, or not at all. */
type Mood = 'well' | 'late' | 'rubbish' | 'strange' | 'away'

/** What stands between Drupal and Quoin, and answers as it is told. */
async function startGate(
  t: Test,
  ask: (url: string, headers: Record<string, string>, body: string) => Promise<{ status: number; text: string }>
) {
  const gate = { mood: 'well' as Mood, asked: [] as string[], url: '' }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    gate.asked.push(request.url!)
    await answer(response, request.url!, request.headers as Record<string, string>, Buffer.concat(chunks).toString())
  })
  async function answer(response: ServerResponse, url: string, headers: Record<string, string>, body: string) {
    if (gate.mood === 'away') return response.destroy()
    if (gate.mood === 'rubbish') return response.end('<html>'.repeat(1_000_000))
    if (gate.mood === 'strange') return response.end('{"locks":[{"fieldName":"nobodys"}]}')
    if (gate.mood === 'late') await sleep(2000, undefined, { ref: false })
    const { status, text } = await ask(url, headers, body)
    return response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  gate.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return gate
}

/** Drupal tells of a save after its answer. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 5000; !(await isTrue()) && performance.now() < end;) await sleep(20)
}

/** A newsroom with the module, and Quoin beside it. */
async function openNewsroom(t: Test) {
  const site = await startNodes()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const service = await startNodesQuoin(site, undefined, '', { DYNAMODB_ENDPOINT: endpoint, CMS_MODULE_SECRET: MODULE_SECRET })
  t.teardown(() => service.close())
  const gate = await startGate(t, async (url, { authorization = '', 'content-type': type = '' }, payload) => {
    const { statusCode, body } = await service.inject({ method: 'POST', url, payload, headers: { authorization, 'content-type': type } })
    return { status: statusCode, text: body }
  })
  await enableModule(site, { url: gate.url, secret: MODULE_SECRET })
  await site.php("\\Drupal::service('module_installer')->install(['dblog']);")
  const editor = await signIn(site, 'editor')
  const lock = async (id: number | string, fieldName: string, uid: string) => {
    const url = `/api/cloud/data-state/node/${id}`
    const { statusCode } = await service.inject({
      method: 'PUT',
      url,
      payload: { fieldName, userData: { uid, name: uid === '99' ? 'Bob' : 'Editor' } }
    })
    if (statusCode !== 200) throw new Error(String(statusCode))
  }
  const release = (id: number | string) => service.inject({ method: 'DELETE', url: `/api/cloud/data-state/node/${id}?uid=99` })
  const journal = async (id: number) => {
    const { body } = await quoin(service, editor, 'GET', `/api/collection/${id}/journal?limit=100`)
    return body.data as Array<{ kind: string; by: { uid: string; name: string }; fields: object; message?: string; outcome: string }>
  }
  const log = async () =>
    (
      await site.php(
        "return implode('|', \\Drupal::database()->query(\"SELECT message || variables FROM {watchdog} WHERE type = 'quoin'\")->fetchCol());"
      )
    ).trim()
  const waiting = async () => Number(await site.php("return \\Drupal::queue('quoin_saves')->numberOfItems();"))
  const tellAll = () => site.php("\\Drupal::service('cron')->run();")
  return { site, service, gate, editor, lock, release, journal, log, waiting, tellAll }
}

/** Saves a node by JSON:API. */
async function patch(site: NodesSite, who: Record<string, string>, uuid: string, attributes: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${site.url}${nodesJsonapiPath}/node/issue/${uuid}`, {
    method: 'PATCH',
    headers: { ...who, ...JSONAPI, ...headers },
    body: JSON.stringify({ data: { type: 'node--issue', id: uuid, attributes } })
  })
  return { status: response.status, body: (await response.json()) as any }
}

t.test('saves that do not come through Quoin respect locks, and Quoin hears of them', { timeout: 1_200_000 }, async (t) => {
  const { site, service, gate, editor, lock, release, journal, log, waiting, tellAll } = await openNewsroom(t)
  // The first has a value in each field; its title alone is Bob's.
  const id = site.content.editions[0]!
  const path = `/node/${id}/edit`
  const browser = await openBrowser(site, 'editor')
  const admin = await openBrowser(site, 'admin')
  const show = async () => (await core(site, editor, 'GET', `/node/${id}`)).body
  const uuid: string = (await show()).uuid[0].value
  const uid = String(site.content.users['editor'])
  const over = async () => site.php("user_role_grant_permissions('editor', ['save over locks by quoin']);")
  const notOver = async () => site.php("user_role_revoke_permissions('editor', ['save over locks by quoin']);")
  await lock(id, 'title', '99')

  t.test('the form', async (t) => {
    const every = (await browser.open(path)).values
    t.ok(Object.keys(every).length > 40, 'it has all fields')
    for (const field of [
      'field_intro',
      'field_stories',
      'field_cover',
      'field_link',
      'field_price',
      'field_online',
      'status',
      'path',
      'moderation_state',
      'field_featured',
      'field_expires',
      'created',
      'uid'
    ]) {
      await lock(id, field, '99')
    }
    const unlocked = await browser.edit(path, { 'field_banner[0][value]': 'By form' })
    t.equal(unlocked.status, 303, `a field that nobody has locked is saved, ${unlocked.messages}`)
    t.match(await show(), { field_banner: value('By form') })
    await until(async () => (await journal(id)).length > 0)
    const [told] = await journal(id)
    t.match(told, { kind: 'outside', by: { uid, name: 'editor' }, outcome: 'saved' }, 'Quoin has heard of it')
    const names = Object.keys(told!.fields).filter((name) => !name.endsWith('publish_on'))
    t.strictSame(names, ['field_banner'], 'and which field it was; the form itself sets empty times')

    const refused = await browser.edit(path, { 'title[0][value]': 'Over Bob', 'field_banner[0][value]': 'Lost' })
    t.equal(refused.status, 200)
    t.match(refused.messages, /Bob is editing Title\. Nothing was saved\./)
    t.notMatch(refused.html, 'Save over it', 'who may not is not asked')
    t.equal(refused.form!.values['title[0][value]'], 'Over Bob', 'the text is kept')
    t.match(await show(), { title: value('Editie 1 (issue)'), field_banner: value('By form') }, 'nothing is saved')
    const forced = await browser.submit(refused.form!, { quoin_save_over: '1' })
    t.equal(forced.status, 200, 'nor by a checkbox that is not there')

    await over()
    const asked = await browser.edit(path, { 'title[0][value]': 'Over Bob' })
    t.match(asked.html, 'Save over it')
    t.notMatch(await (await fetch(`${site.url}${path}`, { headers: editor })).text(), 'Save over it', 'not before')
    t.equal((await browser.submit(asked.form!, {})).status, 200, 'it has to be chosen')
    t.equal((await browser.submit(asked.form!, { quoin_save_over: '1' })).status, 303)
    t.match(await show(), { title: value('Over Bob') })
    await notOver()

    await release(id)
    await lock(id, 'title', uid)
    t.equal((await browser.edit(path, { 'title[0][value]': 'My own' })).status, 303, "the saver's own lock does not stop the saver")
    t.match((await admin.edit(path, { 'title[0][value]': 'Of another' })).messages, /Editor is editing Title/)
    await service.inject({ method: 'DELETE', url: `/api/cloud/data-state/node/${id}?uid=${uid}` })
    await lock(id, 'title', '99')
    await lock(id, 'field_banner', '99')
    const both = await browser.edit(path, { 'title[0][value]': 'x', 'field_banner[0][value]': 'y' })
    t.match(both.messages, /Bob is editing Kop.*Bob is editing Title/, 'each field is named, by its label')
    await lock(id, 'field_labels', '99')
    gate.asked.length = 0
    const button = await browser.submit(await browser.open(path), { 'field_labels[0][value]': 'z' }, 'Add another item')
    t.notMatch(button.messages, /is editing/)
    t.strictSame(gate.asked, [], 'a button of a widget asks nothing')
    await release(id)
    await lock(id, 'title', '99')
  })

  t.test('core REST and JSON:API', async (t) => {
    const rest = (body: object, headers = {}) =>
      core(site, { ...editor, ...headers }, 'PATCH', `/node/${id}`, { type: [{ target_id: 'issue' }], ...body })
    t.match(await rest({ title: value('By REST') }), {
      status: 422,
      body: { message: 'Unprocessable Entity: validation failed.\ntitle: Bob is editing Title. Nothing was saved.\n' }
    })
    t.match(await patch(site, editor, uuid, { title: 'By JSON:API' }), {
      status: 422,
      body: {
        errors: [
          { status: '422', detail: 'title: Bob is editing Title. Nothing was saved.', source: { pointer: '/data/attributes/title' } }
        ]
      }
    })
    t.equal((await rest({ title: (await show()).title })).status, 200, 'what does not differ is not in the way')
    t.equal((await rest({ field_banner: value('By REST') })).status, 200)
    t.equal((await patch(site, editor, uuid, { field_labels: ['By JSON:API'] })).status, 200)
    const [second, first] = await journal(id)
    t.strictSame([Object.keys(first!.fields), Object.keys(second!.fields)], [['field_banner'], ['field_labels']])
    const header = { 'quoin-save-over': '1' }
    t.equal((await rest({ title: value('Over') }, header)).status, 422, 'who may not does not save over it')
    await over()
    t.equal((await rest({ title: value('Over it by REST') }, header)).status, 200)
    t.equal((await patch(site, editor, uuid, { title: 'Over it by JSON:API' }, header)).status, 200)
    t.equal((await patch(site, editor, uuid, { title: 'Not said' })).status, 422)
    await notOver()
  })

  t.test('a save through Quoin passes, and is not told', async (t) => {
    gate.asked.length = 0
    const saved = await quoin(service, editor, 'POST', `/api/collection/${id}`, { title: value('Through Quoin') })
    t.equal(saved.status, 200, JSON.stringify(saved.body))
    t.strictSame(gate.asked, [])
    t.match((await journal(id))[0], { kind: 'update' })
    const forged = await patch(site, editor, uuid, { title: 'Forged' }, { 'quoin-save': 'a.b.c' })
    t.equal(forged.status, 422)
  })

  t.test('who watches the edition hears of a save in the form', async (t) => {
    const address = await service.listen({ host: '127.0.0.1', port: 0 })
    const { openEvents } = await import('../fixtures/event-source.ts')
    const { next } = await openEvents(t, `${address}/api/cloud/data-state/node/${id}/events`)
    t.match(await next(), { event: 'snapshot' })
    await browser.edit(path, { 'field_banner[0][value]': 'Heard' })
    let heard = await next()
    // A save before it may be told only now.
    while (heard.data.fields?.join() === 'title') heard = await next()
    t.match(heard, { event: 'saved', data: { entityId: String(id), uid, fields: ['field_banner'], etag: null } })
  })

  t.test('while Quoin is away, late or talks rubbish the form works as without it', async (t) => {
    await tellAll()
    for (const mood of ['away', 'rubbish', 'strange', 'late'] as const) {
      gate.mood = mood
      const { status, ms } = await browser.edit(path, { 'title[0][value]': `While ${mood}` })
      t.equal(status, 303, mood)
      t.ok(ms < 4000, `${mood}: ${Math.round(ms)} ms`)
      await until(async () => (await waiting()) > 0)
      t.ok((await waiting()) > 0, `${mood}: what could not be told waits`)
    }
    const late = await waiting()
    t.ok(late >= 4, String(late))
    t.match(await log(), /is saved without a check of its locks/)
    t.match(await log(), /is told of @count saves later/)
    gate.mood = 'well'
    await tellAll()
    t.equal(await waiting(), 0, 'cron tells it')
    const told = (await journal(id)).filter(({ fields }) => Object.keys(fields).join() === 'title')
    t.ok(told.length >= 4)
    t.match(await show(), { title: value('While late') })
  })

  t.test('a new entity, and one that is deleted', async (t) => {
    gate.asked.length = 0
    const made = await core(site, editor, 'POST', '/node', {
      type: [{ target_id: 'issue' }],
      title: value('New'),
      field_number: value('n-1'),
      moderation_state: value('published')
    })
    t.equal(made.status, 201, JSON.stringify(made.body))
    const own = made.body.nid[0].value
    await until(() => gate.asked.length > 0)
    t.strictSame(gate.asked, ['/drupal/saves'], 'nobody has locked what is not there')
    t.match((await journal(own))[0], { kind: 'outside', by: { name: 'editor' }, fields: { title: {}, field_number: {} } })
    t.equal((await core(site, editor, 'DELETE', `/node/${own}`)).status, 204)
    await until(() => gate.asked.length > 1)
    t.strictSame(gate.asked, ['/drupal/saves', '/drupal/saves'])
  })

  t.test('a translation, and a draft', async (t) => {
    const edition = site.content.cases.translated
    await lock(edition, 'title', '99')
    t.match((await browser.edit(`/fr/node/${edition}/edit`, { 'title[0][value]': 'En français' })).messages, /Bob is editing Title/)
    await release(edition)
    t.equal((await browser.edit(`/fr/node/${edition}/edit`, { 'title[0][value]': 'En français' })).status, 303)
    const pending = site.content.pending[0]!
    await lock(pending, 'title', '99')
    const draft = await browser.edit(`/node/${pending}/edit`, { 'field_banner[0][value]': 'Draft' })
    t.equal(draft.status, 303, `what an earlier draft has changed is not changed by this save, ${draft.messages}`)
    await until(async () => (await journal(pending)).length > 0)
    const fields = Object.keys((await journal(pending))[0]!.fields)
    t.ok(fields.includes('field_banner') && !fields.includes('title'), fields.join())
    t.match((await browser.edit(`/node/${pending}/edit`, { 'title[0][value]': 'x' })).messages, /Bob is editing Title/)
  })

  t.test('the queue is bounded, and what is too old is dropped', async (t) => {
    await tellAll()
    await site.php("foreach (range(1, 1000) as $i) { \\Drupal::queue('quoin_saves')->createItem(['at' => 1]); }")
    gate.mood = 'away'
    t.equal((await browser.edit(path, { 'field_banner[0][value]': 'Too many' })).status, 303)
    await sleep(500)
    t.ok((await waiting()) <= 1000)
    t.match(await log(), /is not told of a save of/)
    gate.mood = 'well'
    await tellAll()
    t.equal(await waiting(), 0)
  })

  t.test('another secret is as if Quoin were away', async (t) => {
    await site.php(
      "file_put_contents(DRUPAL_ROOT . '/sites/default/settings.php', \"\\n\\$settings['quoin']['secret'] = str_repeat('x', 40);\\n\", FILE_APPEND);"
    )
    await sleep(2500)
    t.equal((await browser.edit(path, { 'title[0][value]': 'Another secret' })).status, 303)
    await until(async () => (await waiting()) > 0)
    t.ok((await waiting()) > 0)
    t.match(await log(), /answered 401/)
  })
})
