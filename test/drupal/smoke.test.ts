import t from 'tap'
import { nodesJsonapiPath, startNodes } from './nodes.ts'
import { startSite } from './site.ts'
import type { Variant } from './variants.ts'

const editor = { authorization: `Basic ${Buffer.from('editor:editor').toString('base64')}` }

async function json(url: string, init: RequestInit = {}): Promise<{ status: number; body: any }> {
  const response = await fetch(url, init)
  return { status: response.status, body: await response.json() }
}

for (const variant of ['bundles', 'single', 'renamed'] satisfies Variant[]) {
  t.test(`the site "${variant}" answers through core REST and JSON:API, and can be reset`, async (t) => {
    const site = await startSite({ variant })
    t.teardown(site.stop)
    const { entityType, jsonapiPath, keys, bundles } = site.names
    const bundle = bundles[0]!.id
    const rest = `${site.url}/${entityType}/1?_format=json`

    const read = await json(rest)
    t.equal(read.status, 200)
    t.equal(read.body[keys.id][0].value, 1)
    t.equal(read.body[keys.bundle][0].target_id, bundle)

    const resource = `${site.url}${jsonapiPath}/${entityType}/${bundle}/${read.body.uuid[0].value}`
    const document = await json(resource)
    t.equal(document.status, 200)
    t.equal(document.body.data.type, `${entityType}--${bundle}`)
    t.equal(document.body.data.attributes[keys.label], read.body[keys.label][0].value)

    const patched = await json(rest, {
      method: 'PATCH',
      headers: { ...editor, 'content-type': 'application/json' },
      body: JSON.stringify({ [keys.bundle]: [{ target_id: bundle }], [keys.label]: [{ value: 'Changed' }] })
    })
    t.equal(patched.status, 200)
    t.equal((await json(resource)).body.data.attributes[keys.label], 'Changed')

    const count = `return (int) \\Drupal::entityQuery('${entityType}')->accessCheck(FALSE)->count()->execute();`
    t.equal(Number(await site.php(count)), site.content.editions)

    await site.reset()
    t.strictSame((await json(rest)).body, read.body)
  })
}

t.test('twins are equal and do not see each other', async (t) => {
  const twins = await Promise.all([startSite(), startSite()])
  t.teardown(() => Promise.all(twins.map((site) => site.stop())))
  const [a, b] = await Promise.all(
    twins.map((site) => json(`${site.url}/publisher_container/${site.content.cases.aliased}?_format=json`, { headers: editor }))
  )
  t.strictSame(a, b)
  await twins[0]!.php("\\Drupal::state()->set('system.maintenance_mode', TRUE);")
  t.equal((await fetch(`${twins[0]!.url}/jsonapi`)).status, 503)
  t.equal((await fetch(`${twins[1]!.url}/jsonapi`)).status, 200)
})

t.test('the site of nodes has drafts over published editions, translations of their own, and no time to publish', async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const { pending, cases } = site.content
  const show = async (path: string) => (await json(`${site.url}${path}?_format=json`, { headers: editor })).body
  const edition = await show(`/node/${pending[0]}`)
  t.match(edition, { type: [{ target_id: 'issue' }], moderation_state: [{ value: 'published' }], publish_on: [] })
  const resource = `${site.url}${nodesJsonapiPath}/node/issue/${edition.uuid[0].value}`
  const draft = await json(`${resource}?resourceVersion=rel:working-copy`, { headers: editor })
  t.match(draft.body.data.attributes, { title: /^Concept/, moderation_state: 'draft' })
  const stories = (edition: any) => edition.field_stories.map(({ target_id: id }: any) => id)
  t.strictNotSame(stories(await show(`/fr/node/${cases.translated}`)), stories(await show(`/node/${cases.translated}`)))
})
