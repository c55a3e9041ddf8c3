import t from 'tap'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

/** Changes the title of an edition in a workspace. */
const CHANGE_IN_WORKSPACE = (id: number) => `
  \\Drupal::service('module_installer')->install(['workspaces']);
  \\Drupal\\workspaces\\Entity\\Workspace::create(['id' => 'weekend', 'label' => 'Weekend'])->save();
  \\Drupal::service('workspaces.manager')->executeInWorkspace('weekend', function () {
    \\Drupal::entityTypeManager()->getStorage('publisher_container')->load(${id})->set('title', 'In the workspace')->save();
  });`

t.test('an edition that was changed in a workspace is saved again once that is published', { timeout: 600_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  await site.php(CHANGE_IN_WORKSPACE(1))
  const editor = await signIn(site, 'editor')
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const body = { type: [{ target_id: 'daily' }], title: [{ value: 'Changed' }] }
  t.match(await core(site, editor, 'PATCH', '/publisher_container/1', body), {
    status: 422,
    body: { message: /The content is being edited in the Weekend workspace/ }
  })
  t.match(await quoin(service, editor, 'POST', '/api/collection/1', body), {
    status: 409,
    body: { code: 'CONFLICT', message: /or publish the workspace, and save again/ }
  })
  t.match((await core(site, editor, 'GET', '/publisher_container/1')).body.title, [{ value: 'Daily edition 1 of daily' }])

  await site.php("\\Drupal\\workspaces\\Entity\\Workspace::load('weekend')->publish();")
  t.match(await quoin(service, editor, 'GET', '/api/collection/1'), { body: { title: [{ value: 'In the workspace' }] } })
  t.match(await quoin(service, editor, 'POST', '/api/collection/1', body), { status: 200, body: { title: body.title } })
})
