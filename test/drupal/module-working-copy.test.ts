import t from 'tap'
import { enableModule } from './module.ts'
import { nodesJsonapiPath, startNodes } from './nodes.ts'
import { signIn } from './quoin.ts'

const JSONAPI = 'application/vnd.api+json'

t.test('the module changes the working copy of a moderated node', { timeout: 900_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  await enableModule(site)
  const editor = await signIn(site, 'editor')
  const admin = await signIn(site, 'admin')
  const uuid = JSON.parse(
    await site.php(`
      foreach ([${site.content.pending.slice(0, -1).join(', ')}] as $id) {
        $node = \\Drupal\\node\\Entity\\Node::load($id);
        if ($node->bundle() === 'issue' && $node->language()->getId() === 'nl') return $node->uuid();
      }`)
  )
  const path = `${site.url}${nodesJsonapiPath}/node/issue/${uuid}`
  const read = async (who: Record<string, string>, query = '') => {
    const response = await fetch(path + query, { headers: who })
    return { status: response.status, ...((await response.json()) as any) }
  }
  const patch = async (who: Record<string, string>, attributes: object, headers: object = {}, where = '/working-copy') => {
    const response = await fetch(path + where, {
      method: 'PATCH',
      headers: { ...who, accept: JSONAPI, 'content-type': JSONAPI, ...headers },
      body: JSON.stringify({ data: { type: 'node--issue', id: uuid, attributes } })
    })
    return { status: response.status, module: response.headers.get('quoin-module'), ...((await response.json()) as any) }
  }
  const published = (await read(admin)).data.attributes
  const draft = (await read(editor, '?resourceVersion=rel:working-copy')).data.attributes
  t.not(draft.drupal_internal__vid, published.drupal_internal__vid)
  t.match(await patch(editor, { title: 'Refused' }, {}, ''), { status: 400, errors: [{ detail: /working copy/ }] }, 'as core has it')
  const saved = await patch(editor, { title: 'A draft' }, { 'quoin-revision': String(draft.drupal_internal__vid) })
  t.match(saved, { status: 200, module: /./, data: { attributes: { title: 'A draft', moderation_state: draft.moderation_state } } })
  t.equal((await read(admin)).data.attributes.title, published.title, 'what is published stays')
  t.equal((await read(editor, '?resourceVersion=rel:working-copy')).data.attributes.title, 'A draft')
  t.match(await patch(editor, { title: 'Stale' }, { 'quoin-revision': String(draft.drupal_internal__vid) }), { status: 412 })
  t.match(await patch(editor, { title: '' }), { status: 422 })
  t.match(await patch(editor, { moderation_state: 'nonsense' }), { status: 422 })
  t.match(await patch(editor, { nonsense: 1 }), { status: 422 })
  t.match(await patch(editor, { changed: '2020-01-01T00:00:00+00:00' }), { status: 403 })
  t.match(await patch({}, { title: 'Nobody' }), { status: 401 })
  t.match(await patch(await signIn(site, 'reader'), { title: 'Reader' }), { status: 403 })
  const { cookie } = editor
  t.match(await patch({ cookie: cookie! }, { title: 'Without a token' }), { status: 403, errors: [{ detail: /X-CSRF-Token/ }] })

  const state = saved.data.attributes.drupal_internal__vid
  const atOnce = await Promise.all(
    Array.from({ length: 4 }, (_, index) => patch(editor, { title: `Draft ${index}` }, { 'quoin-revision': String(state) }))
  )
  t.strictSame(atOnce.map(({ status }) => status).toSorted(), [200, 412, 412, 412])
  t.match(await patch(admin, { moderation_state: 'published' }), { status: 200 })
  t.match((await read(admin)).data.attributes.title, /^Draft \d$/, 'a draft that is published')
  t.match(await patch(editor, { title: 'Without a draft' }), { status: 200 })

  t.match(await patch(editor, { title: 'A second draft', moderation_state: 'draft' }), { status: 200 })
  await site.php("user_role_revoke_permissions('editor', ['view latest version']);")
  t.match(await patch(editor, { title: 'Unseen' }), { status: 403, errors: [{ detail: /not allowed to PATCH/ }] })
})
