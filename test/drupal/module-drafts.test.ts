import t from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { enableModule } from './module.ts'
import { startNodes, startNodesQuoin } from './nodes.ts'
import { quoin, signIn } from './quoin.ts'

const value = (text: string) => [{ value: text }]

t.test('an edition with a draft is saved beside the module', { timeout: 900_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const service = await startNodesQuoin(site, undefined, '', { DYNAMODB_ENDPOINT: endpoint })
  t.teardown(() => service.close())
  const ids: number[] = JSON.parse(
    await site.php(`
      return array_values(array_filter([${site.content.pending.slice(0, -1).join(', ')}],
        fn ($id) => \\Drupal\\node\\Entity\\Node::load($id)->language()->getId() === 'nl'));`)
  )
  const id = ids[0]!
  const draft = async () =>
    JSON.parse(
      await site.php(`
        $storage = \\Drupal::entityTypeManager()->getStorage('node');
        $node = $storage->loadRevision($storage->getLatestRevisionId(${id}));
        return ['title' => $node->label(), 'number' => $node->field_number->value, 'state' => $node->moderation_state->value,
          'published' => $storage->load(${id})->label()];`)
    ) as Record<string, string>
  let editor = await signIn(site, 'editor')
  const read = async () => {
    const { headers, body } = await quoin(service, editor, 'GET', `/api/collection/${id}`)
    return { etag: String((headers as Record<string, unknown>)['etag']), body }
  }
  const save = async (body: object, etag?: string) => {
    const answer = await quoin(service, editor, 'POST', `/api/collection/${id}`, body, etag === undefined ? {} : { 'if-match': etag })
    return { ...answer, etag: String((answer.headers as Record<string, unknown>)['etag']) }
  }
  const before = await draft()
  t.match(await save({ field_number: value('without') }, (await read()).etag), { status: 409 }, 'not without the module')

  await enableModule(site)
  editor = await signIn(site, 'editor')
  const { etag, body: published } = await read()
  t.match(await save({ title: value('Unseen') }, etag), { status: 412 }, 'the draft has another title')
  t.match(await save({ title: value('Unseen') }), { status: 409 }, 'without If-Match too')
  const saved = await save({ title: published.title, field_number: value('changed') }, etag)
  t.match(saved, { status: 200, body: { title: value(before['title']!), field_number: value('changed') } }, 'the answer shows the draft')
  t.match(await draft(), { ...before, number: 'changed' })
  t.equal((await read()).body.title[0].value, before['published'], 'what is published stays')
  const titled = await save({ title: value('My draft') }, saved.etag)
  t.match(titled, { status: 200, body: { title: value('My draft') } }, 'the tag of the draft names it')
  t.match(await save({ title: value('Late') }, saved.etag), { status: 412 })
  t.match(await save({ title: value('My draft') }, titled.etag), { status: 200 }, 'where nothing differs')
  const { data } = (await quoin(service, editor, 'GET', `/api/collection/${id}/journal`)).body
  t.strictSame(
    data.slice(0, 2).map(({ outcome, fields }: any) => [outcome, Object.keys(fields).join()]),
    [
      ['saved', 'title'],
      ['saved', 'field_number']
    ],
    'each save has one entry'
  )

  await site.php("user_role_revoke_permissions('editor', ['view latest version']);")
  t.match(await save({ field_number: value('hidden') }, (await read()).etag), { status: 409 }, 'who may not see the draft')
  await site.php("user_role_grant_permissions('editor', ['view latest version']);")
  const done = await save({ moderation_state: value('published') }, titled.etag)
  t.match(done, { status: 200, body: { title: value('My draft'), moderation_state: value('published') } })
  t.equal((await read()).body.title[0].value, 'My draft')
  t.match(await save({ field_number: value('after') }, done.etag), { status: 200, body: { field_number: value('after') } })
})
