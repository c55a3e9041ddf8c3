import { writeFileSync } from 'node:fs'
import t from 'tap'
import { differences } from './compare.ts'
import { nodesJsonapiPath as jsonapiPath, startNodes, startNodesQuoin } from './nodes.ts'
import { contentModelFile, core, quoin, signIn } from './quoin.ts'
import { writtenModel } from './written.ts'

t.test('a time that is set for the first time is a time stamp at once, whatever the model says', { timeout: 600_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const { file } = await writtenModel({ url: site.url, jsonapiPath }, 'editor')
  writeFileSync(file, JSON.stringify({ ...contentModelFile(file), timestampFields: ['created', 'changed'] }))
  const service = await startNodesQuoin(site, file)
  t.teardown(() => service.close())
  const session = await signIn(site, 'admin')
  const [id] = site.content.editions
  const when = { value: '2026-12-24T18:00:00+00:00', format: 'Y-m-d\\TH:i:sP' }
  const saved = await quoin(service, session, 'POST', `/api/collection/${id}`, { publish_on: [when] })
  t.match(saved, { status: 200, body: { publish_on: [when] } })
  const rest = await core(site, session, 'GET', `/node/${id}`)
  t.strictSame(differences(rest, await quoin(service, session, 'GET', `/api/collection/${id}`)), [])
})
