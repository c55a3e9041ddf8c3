import { existsSync } from 'node:fs'
import Fastify from 'fastify'
import { chromium } from 'playwright-core'
import t from 'tap'
import { app } from '../../app.ts'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { testConfig } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { press } from './harness.ts'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

t.test("the desk works below the prefix at which a host's own server serves it", async (t) => {
  if (!existsSync(CHROMIUM)) throw new Error(`There is no ${CHROMIUM}: run test/e2e/install-chromium.sh, or set CHROMIUM`)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { endpoint } = await startEngine(t, 'dynalite')
  const host = Fastify({ routerOptions: { maxParamLength: 4096 }, forceCloseConnections: true })
  t.teardown(() => host.close())
  await host.register(app, {
    prefix: '/quoin',
    config: testConfig({
      DESK: 'on',
      DYNAMODB_ENDPOINT: endpoint,
      CMS_URL: await cms.listen(),
      CMS_AUTH: 'basic',
      CMS_USER: 'editor',
      CMS_PASSWORD: 'editor'
    })
  })
  const address = await host.listen({ host: '127.0.0.1', port: 0 })

  const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const outside: string[] = []
  page.on('request', (request) => {
    if (request.url().startsWith(address) && !new URL(request.url()).pathname.startsWith('/quoin/')) outside.push(request.url())
  })
  await page.goto(`${address}/quoin/desk?as=anna`)
  await page.getByRole('heading', { level: 1, name: 'Editions' }).waitFor()
  await press(page.getByRole('link', { name: 'Wednesday, 18 November 2026' }))
  await page.getByLabel('Title').first().fill('Wednesday, below a prefix')
  await press(page.getByRole('button', { name: 'Save changes' }))
  await page.getByText('Saved.').first().waitFor()
  t.match(await (await fetch(`${address}/quoin/api/collections/daily?q=below`)).json(), {
    data: [{ title: [{ value: 'Wednesday, below a prefix' }] }]
  })
  t.strictSame(outside, [])
  await press(page.getByRole('link', { name: 'Change seat' }))
  await page.getByRole('heading', { name: 'Who are you?' }).waitFor()
  t.equal(new URL(page.url()).pathname, '/quoin/desk')
})
