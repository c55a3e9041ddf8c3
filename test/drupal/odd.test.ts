import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { core, quoin, signIn, startQuoin, type Answer } from './quoin.ts'
import { startSite } from './site.ts'

const site = await startSite()
t.teardown(() => site.stop())
cpSync(new URL('odd', import.meta.url), join(site.root, 'modules/odd'), { recursive: true })
await site.php("\\Drupal::service('module_installer')->install(['odd']); drupal_flush_all_caches();")
const model = join(site.root, '../content-model.json')
writeFileSync(model, JSON.stringify({ rawFields: ['odd_map', 'odd_maps'], references: { field_articles: 'node' } }))
const [editor, reader, admin] = [await signIn(site, 'editor'), await signIn(site, 'reader'), await signIn(site, 'admin')]

const path = (id: number) => `/publisher_container/${id}`
const url = (id: number) => `/api/collection/${id}`

t.test('properties that a field really has are stored, whatever they are called', async (t) => {
  const service = await startQuoin(site, { CONTENT_MODEL: model })
  t.teardown(() => service.close())
  const video = { url: 'https://video.example/1', caption: 'One' }
  const map = { a: 1, url: 'u', entity: 'e', processed: 'p', value: { b: [] } }
  for (const fields of [
    { odd_video: [video], odd_map: [map], odd_maps: [{ value: 1 }, { value: 2 }] },
    { odd_video: [{ ...video, caption: 'Two' }] },
    { odd_map: [{ ...map, processed: 'q' }] },
    { odd_maps: [{ value: 3 }] }
  ]) {
    const { status, body } = await quoin(service, editor, 'POST', url(1), fields)
    t.equal(status, 200)
    const stored = (await core(site, admin, 'GET', path(1))).body
    for (const [name, items] of Object.entries(fields)) t.strictSame([stored[name], body[name]], [items, items], name)
  }
})

t.test('what is wrong with a whole edition is told in the words of core REST', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const body = { type: 'daily', title: [{ value: 'Odd <i> & "others"' }] }
  const [theirs, ours] = [await core(site, editor, 'PATCH', path(1), body), await quoin(service, editor, 'POST', url(1), body)]
  t.match(theirs.body.message, /is odd\.\n$/)
  t.strictSame([ours.status, ours.body.message], [theirs.status, theirs.body.message])
})

t.test('an edition of which the label alone may be seen is refused', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const id = site.content.cases.emptyUnpublished
  const { uuid } = (await core(site, admin, 'GET', path(id))).body
  t.equal((await core(site, reader, 'GET', path(id))).status, 403)
  t.equal((await quoin(service, reader, 'GET', url(uuid[0].value))).status, 403)
})

t.test('a reference field that is empty in an edition is told by others, and a config entity that the user may not see too', async (t) => {
  const field = (target: unknown) => ({ odd_role: [{ target_id: 'editor' }], odd_author: [{ target_id: target }] })
  const before = await startQuoin(site)
  t.teardown(() => before.close())
  t.match(await quoin(before, editor, 'POST', url(2), { odd_role: [{ target_id: 'editor', target_type: 'user_role' }] }), {
    status: 422,
    body: { message: /name it by target_uuid/ }
  })
  t.equal((await core(site, editor, 'PATCH', path(3), { type: 'daily', ...field(2) })).status, 200)
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  t.match(await quoin(service, editor, 'POST', url(2), field(3)), {
    status: 200,
    body: { odd_role: [{ target_id: 'editor', target_type: 'user_role' }], odd_author: [{ target_id: 3, target_type: 'user' }] }
  })
})

t.test('an edition is changed in its own language where Drupal goes by Accept-Language', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  await site.php(
    "\\Drupal::configFactory()->getEditable('language.types')->set('negotiation.language_interface.enabled', ['language-url' => 0, 'language-browser' => 1])->set('negotiation.language_content.enabled', ['language-interface' => 0])->save(); drupal_flush_all_caches();"
  )
  for (const language of ['de', 'fr;q=0.9', 'en']) {
    t.equal(
      (await quoin(service, editor, 'POST', url(1), { title: [{ value: `For ${language}` }] }, { 'accept-language': language })).status,
      200,
      language
    )
  }
  t.equal(
    (await quoin(service, editor, 'POST', url(site.content.cases.german), { title: [{ value: 'Deutsch' }] })).status,
    200,
    'a German one, without'
  )
})

t.test('the state of a moderated edition is emptied as core REST empties it, and a draft ends the saves', async (t) => {
  await site.php(`
    \\Drupal::service('module_installer')->install(['content_moderation']);
    \\Drupal\\workflows\\Entity\\Workflow::create(['id' => 'desk', 'label' => 'Desk', 'type' => 'content_moderation', 'type_settings' => [
      'states' => ['draft' => ['label' => 'Draft', 'published' => FALSE, 'default_revision' => FALSE, 'weight' => 0], 'published' => ['label' => 'Published', 'published' => TRUE, 'default_revision' => TRUE, 'weight' => 1]],
      'transitions' => ['back' => ['label' => 'Back', 'from' => ['draft', 'published'], 'to' => 'draft', 'weight' => 0], 'publish' => ['label' => 'Publish', 'from' => ['draft', 'published'], 'to' => 'published', 'weight' => 1]],
      'entity_types' => ['publisher_container' => ['special']],
    ]])->save();
    user_role_grant_permissions('editor', ['use desk transition back', 'use desk transition publish']);
    drupal_flush_all_caches();`)
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const edition = (key: string, state: unknown[]) => ({
    type: 'special',
    title: [{ value: key }],
    field_key: [{ value: key }],
    moderation_state: state
  })
  const refused = await core(site, editor, 'POST', '/entity/publisher_container', edition('moderated-1', []))
  t.match(refused, { status: 422, body: { message: /^Unprocessable Entity: validation failed\.\nmoderation_state: / } })
  t.match(await quoin(service, editor, 'POST', '/api/collection', edition('moderated-1', [])), {
    status: 422,
    body: { message: refused.body.message }
  })
  const {
    body: {
      id: [{ value: id }]
    }
  } = await quoin(service, editor, 'POST', '/api/collection', edition('moderated-2', [{ value: 'published' }]))
  t.match(await quoin(service, editor, 'POST', url(id), { moderation_state: [] }), { status: 422, body: { message: refused.body.message } })
  const stateOf = ({ body: { status, moderation_state: state } }: Answer) => [status, state]
  t.strictSame(stateOf(await quoin(service, editor, 'GET', url(id))), stateOf(await core(site, editor, 'GET', path(id))))
  t.match(await quoin(service, editor, 'POST', url(id), { moderation_state: [{ value: 'draft' }] }), {
    status: 200,
    body: { moderation_state: [{ value: 'draft' }] }
  })
  t.match(await quoin(service, editor, 'POST', url(id), { title: [{ value: 'Later' }] }), { status: 409, body: { code: 'CONFLICT' } })
})
