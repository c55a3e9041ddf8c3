import t from 'tap'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'
import { as, core, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'
import type { Variant } from './variants.ts'

for (const variant of ['bundles', 'single'] satisfies Variant[]) {
  t.test(`on the site "${variant}" locks are for those whom Drupal lets edit, and asking it changes nothing`, async (t) => {
    const site = await startSite({ variant })
    t.teardown(site.stop)
    const engine = await startFakeEngine(t)
    const quoin = await startQuoin(site, { AUTH: 'drupal', DYNAMODB_ENDPOINT: engine.endpoint })
    t.teardown(() => quoin.close())
    const { entityType } = site.names
    const state = () =>
      site.php(`$rows = []; foreach (\\Drupal::database()->schema()->findTables('%') as $table) {
      if (preg_match('/^(?:node|${entityType})/', $table)) $rows[$table] = \\Drupal::database()->select($table, 't')->fields('t')->execute()->fetchAll();
    } return hash('sha256', serialize($rows));`)
    const before = await state()

    const uuidOf = async (id: number) => String((await core(site, 'admin', 'GET', `/${entityType}/${id}`)).body.uuid[0].value)
    const send = async (headers: Record<string, string>, method: 'GET' | 'POST' | 'PUT', type: string, id: string | number) =>
      (
        await quoin.inject({
          method,
          url: `/api/cloud/data-state/${type}/${id}`,
          headers,
          ...(method !== 'GET' && { body: { fieldName: 'title' } })
        })
      ).statusCode
    const { emptyUnpublished: hidden, aliased: published } = site.content.cases
    // What a page sends with a lock has no token of Drupal's in it.
    const { 'x-csrf-token': _token, ...editorSession } = await signIn(site, 'editor')
    const callers: Array<[caller: string, headers: Record<string, string>, ofHidden: number[], ofPublished: number[]]> = [
      ['admin', as('admin'), [200, 200, 200], [200, 200, 200]],
      ['editor', as('editor'), [200, 200, 200], [200, 200, 200]],
      ['an editor by session', editorSession, [200, 200, 200], [200, 200, 200]],
      ['reader', as('reader'), [404, 404, 404], [200, 403, 403]]
    ]
    for (const [caller, headers, ofHidden, ofPublished] of callers) {
      for (const [id, expected] of [
        [hidden, ofHidden],
        [published, ofPublished]
      ] as const) {
        // An entity is locked under one name, here its integer id; who may not have it learns no more than by that.
        const byUuid = expected.map((status) => (status === 200 ? 400 : status))
        for (const [name, wanted] of [
          [id, expected],
          [await uuidOf(id), byUuid]
        ] as const) {
          const { length } = engine.operations
          const statuses = [
            await send(headers, 'GET', entityType, name),
            await send(headers, 'POST', entityType, name),
            await send(headers, 'PUT', entityType, name)
          ]
          t.strictSame(statuses, wanted, `${caller}, ${entityType} ${name}`)
          if (!wanted.includes(200)) t.equal(engine.operations.length, length, 'the table was not asked')
        }
      }
    }
    t.equal(await send(as('editor'), 'GET', 'node', site.content.articles.first), 200)
    t.equal(await send(as('reader'), 'POST', 'node', site.content.articles.first), 403)
    t.equal(await send(as('editor'), 'GET', entityType, 424_242), 404)
    t.equal(await send(as('editor'), 'GET', 'nosuch', 1), 404)
    t.equal(await state(), before, 'no row has changed')

    await site.php("\\Drupal::configFactory()->getEditable('jsonapi.settings')->set('read_only', TRUE)->save();")
    const fresh = await startQuoin(site, { AUTH: 'drupal', DYNAMODB_ENDPOINT: engine.endpoint })
    t.teardown(() => fresh.close())
    const refused = await fresh.inject({
      method: 'POST',
      url: `/api/cloud/data-state/${entityType}/${published}`,
      headers: as('editor'),
      body: { fieldName: 'title' }
    })
    t.match([refused.statusCode, refused.json()], [502, { success: false, error: { code: 'CMS_READ_ONLY' } }])
  })
}
