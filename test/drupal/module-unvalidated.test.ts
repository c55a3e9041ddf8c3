import t from 'tap'
import { MODULE_SECRET } from '../boards/fixtures.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { openBrowser } from './forms.ts'
import { enableModule } from './module.ts'
import { startNodes, startNodesQuoin } from './nodes.ts'
import { core, signIn } from './quoin.ts'

t.test('forms that save without validation respect locks; bulk actions and deletions do not', { timeout: 900_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const service = await startNodesQuoin(site, undefined, '', { DYNAMODB_ENDPOINT: endpoint, CMS_MODULE_SECRET: MODULE_SECRET })
  t.teardown(() => service.close())
  const url = await service.listen({ host: '127.0.0.1', port: 0 })
  await enableModule(site, { url, secret: MODULE_SECRET })
  const session = await signIn(site, 'admin')
  const admin = await openBrowser(site, 'admin')
  const show = async (id: number) => (await core(site, session, 'GET', `/node/${id}`)).body
  const board = (id: number) => `/api/cloud/data-state/node/${id}`
  const lock = async (id: number, fieldName: string) => {
    const payload = { fieldName, userData: { uid: '99', name: 'Bob' } }
    t.equal((await service.inject({ method: 'PUT', url: board(id), payload })).statusCode, 200)
  }
  const release = (id: number) => service.inject({ method: 'DELETE', url: `${board(id)}?uid=99` })

  await t.test('the form that reverts to a revision', async (t) => {
    const id = site.content.editions[0]!
    const { vid, title } = await show(id)
    const path = `/node/${id}/revisions/${vid[0].value}/revert`
    t.equal((await admin.edit(`/node/${id}/edit`, { 'title[0][value]': 'Newer' })).status, 303)
    await lock(id, 'title')
    const refused = await admin.submit(await admin.open(path), {}, 'Revert')
    t.equal(refused.status, 200)
    t.match(refused.messages, /Bob is editing Title\. Nothing was saved\./)
    t.match((await show(id)).title, [{ value: 'Newer' }])
    const unlike = await admin.submit(refused.form!, {}, 'Revert')
    t.equal(unlike.status, 200, 'Save over it has to be chosen')
    t.match(unlike.html, 'Save over it')
    await release(id)
    await lock(id, 'field_banner')
    t.equal((await admin.submit(await admin.open(path), {}, 'Revert')).status, 303, 'a field that stays as it is is not in the way')
    t.match((await show(id)).title, title)
    await release(id)

    t.equal((await admin.edit(`/node/${id}/edit`, { 'title[0][value]': 'Newest' })).status, 303)
    await lock(id, 'title')
    const again = await admin.submit(await admin.open(path), {}, 'Revert')
    t.equal((await admin.submit(again.form!, { quoin_save_over: '1' }, 'Revert')).status, 303)
    t.match((await show(id)).title, title)
    await release(id)
  })

  await t.test('the form that reverts a translation', async (t) => {
    const id = site.content.cases.translated
    const vid = (await show(id)).vid[0].value
    t.equal((await admin.edit(`/fr/node/${id}/edit`, { 'title[0][value]': 'Plus récent' })).status, 303)
    await lock(id, 'title')
    const path = `/fr/node/${id}/revisions/${vid}/revert/fr`
    t.match((await admin.submit(await admin.open(path), {}, 'Revert')).messages, /Bob is editing/)
    await release(id)
    t.equal((await admin.submit(await admin.open(path), {}, 'Revert')).status, 303)
  })

  await t.test('the form of content_moderation beside a draft', async (t) => {
    const id = site.content.pending[0]!
    await lock(id, 'moderation_state')
    const path = `/node/${id}/latest`
    const form = await admin.open(path)
    const refused = await admin.submit(form, { new_state: 'published' }, 'Apply')
    t.match(refused.messages, /Bob is editing/)
    await release(id)
    await lock(id, 'title')
    t.equal(
      (await admin.submit(await admin.open(path), { new_state: 'published' }, 'Apply')).status,
      303,
      'the draft has its title already'
    )
    await release(id)
  })

  await t.test('bulk actions and deletions go past it, and are told', async (t) => {
    const id = site.content.stories[1]!
    for (const field of ['sticky', 'title']) await lock(id, field)
    await site.php("\\Drupal::service('module_installer')->install(['views']); drupal_flush_all_caches();")
    const { title } = await show(id)
    const path = `/admin/content?title=${encodeURIComponent(title[0].value)}`
    const page = await (await fetch(site.url + path, { headers: session })).text()
    const rows = [...page.matchAll(/name="(node_bulk_form\[\d+\])"[^>]*\svalue="([^"]+)"/g)]
    const [, name, row] = rows.find(([, , value]) => JSON.parse(atob(value!)).includes(String(id)))!
    const chosen = { [name!]: row!, action: 'node_make_sticky_action' }
    t.equal((await admin.submit(await admin.open(path), chosen, 'Apply to selected items')).status, 303)
    t.match((await show(id)).sticky, [{ value: true }])
    t.equal((await admin.submit(await admin.open(`/node/${id}/delete`), {}, 'Delete')).status, 303)
    t.equal((await core(site, session, 'GET', `/node/${id}`)).status, 404)
  })
})
