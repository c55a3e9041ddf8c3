import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t, { type Test } from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { enableModule } from './module.ts'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite, type Site } from './site.ts'

const value = (text: string) => [{ value: text }]
const SAVES = 30

const SITES = ['without', 'beside'] as const

/** A Quoin before a site, how it saves an edition, and how many requests Drupal was sent. */
async function openDesk(t: Test, site: Site) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const editor = await signIn(site, 'editor')
  const service = await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint })
  t.teardown(() => service.close())
  let count = 0
  const counted = (message: unknown) => {
    const { origin } = (message as { request: { origin: string } }).request
    if (origin === site.url) count++
  }
  subscribe('undici:request:create', counted)
  t.teardown(() => unsubscribe('undici:request:create', counted))
  const save = async (title: string, etag?: string, id = 1) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': etag }
    const before = count
    const answer = await quoin(service, editor, 'POST', `/api/collection/${id}`, { title: value(title) }, headers)
    return { ...answer, etag: String((answer.headers as Record<string, unknown>)['etag']), requests: count - before }
  }
  const read = async () => String(((await quoin(service, editor, 'GET', '/api/collection/1')).headers as Record<string, unknown>)['etag'])
  return { save, read }
}

t.test('with the module a save with If-Match is one request', { timeout: 600_000 }, async (t) => {
  const times: Record<(typeof SITES)[number], number[]> = { without: [], beside: [] }
  const desks = await Promise.all(
    SITES.map(async (name) => {
      const site = await startSite()
      t.teardown(site.stop)
      if (name === 'beside') await enableModule(site)
      const { save } = await openDesk(t, site)
      await save('First')
      return { name, save, etag: (await save('Second')).etag }
    })
  )
  for (let index = 0; index < SAVES; index++) {
    for (const desk of desks) {
      const since = performance.now()
      const { status, etag, requests } = await desk.save(`Title ${index}`, desk.etag)
      times[desk.name].push(performance.now() - since)
      desk.etag = etag
      t.strictSame([status, requests], [200, desk.name === 'beside' ? 1 : 2])
    }
  }
  const p50 = (name: (typeof SITES)[number]) => Math.round(times[name].toSorted((a, b) => a - b)[SAVES / 2]!)
  t.comment(`a save with If-Match, p50 in ms: ${p50('without')} without the module, ${p50('beside')} beside it`)
})

t.test('saves with If-Match see every save in Drupal', { timeout: 600_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  await enableModule(site)
  const other = await signIn(site, 'admin')
  const { save, read } = await openDesk(t, site)
  const saveInDrupal = async (body: object) => {
    const answer = await core(site, other, 'PATCH', '/publisher_container/1', { type: [{ target_id: 'daily' }], ...body })
    t.equal(answer.status, 200)
  }
  const saveWithRevision = (title: string) =>
    site.php(
      `$e = \\Drupal::entityTypeManager()->getStorage('publisher_container')->load(1); $e->set('title', '${title}'); $e->setNewRevision(); $e->save();`
    )
  const { etag: first } = await save('First')
  await saveWithRevision('Theirs')
  t.match(await save('Mine', first), { status: 412 })
  t.match(await save('Mine'), { status: 200, body: { title: value('Mine') } })
  const { etag } = await save('Mine again')
  await saveInDrupal({ title: value('In place') })
  t.match(await save('Late', etag), { status: 412 }, 'whether or not the save has made a revision')
  t.match((await core(site, other, 'GET', '/publisher_container/1')).body, { title: value('In place') })
  t.match(await save('Mine once more', await read()), { status: 200 })

  const translated = site.content.cases.translated
  const { etag: original } = await save('Original', undefined, translated)
  await site.php(
    `$e = \\Drupal::entityTypeManager()->getStorage('publisher_container')->load(${translated})->getTranslation('fr'); $e->set('title', 'Titre'); $e->setNewRevision(); $e->save();`
  )
  t.match(await save('Late', original, translated), { status: 412 }, 'a save of a translation makes a revision of all languages')
  t.match(await save('Original again', undefined, translated), { status: 200 })

  await site.php("\\Drupal::service('module_installer')->uninstall(['quoin']); drupal_flush_all_caches();")
  const { etag: gone } = await save('Without the module')
  t.match(await save('And again', gone), { status: 200 })
  await saveInDrupal({ title: value('Theirs') })
  t.match(await save('Late', gone), { status: 412 })
})
