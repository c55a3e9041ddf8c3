import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from '../app/fixtures/processes.ts'
import { accessibleAnywhere } from './axe.ts'
import { articleOf, button, newsroom, PICTURES, press, shows, until, drag } from './harness.ts'
import { seated } from './users.ts'

const EXAMPLES = join(ROOT, 'packages/desk/examples')

/** What the example page is, with the addresses put in. */
let html = ''

/** Another host, which serves the example page. */
async function otherHost(t: Test): Promise<string> {
  const server = createServer(({ url }, response) => {
    const isStyle = url === '/page.css'
    response.setHeader('content-type', isStyle ? 'text/css' : 'text/html; charset=utf-8')
    response.end(isStyle ? readFileSync(join(EXAMPLES, 'page.css')) : html)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('another page has the running order in it, beside a form of its own', async (t) => {
  const host = await otherHost(t)
  const { url, cmsUrl, browser, client, edition } = await newsroom(t, { CORS_ORIGINS: host })
  const id = await edition('Embedded', [4, 2, 9])
  html = readFileSync(join(EXAMPLES, 'page.html'), 'utf8').replaceAll('QUOIN', url).replaceAll('CMS', cmsUrl).replaceAll('EDITION', id)
  const page = await seated(t, browser)
  const wrong: string[] = []
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
  page.on('pageerror', (error) => wrong.push(String(error.stack)))
  const streams: string[] = []
  /** The streams that the page has given up. */
  const ended: string[] = []
  page.on('request', (request) => request.url().includes('/events') && streams.push(request.url()))
  page.on('requestfailed', (request) => request.url().includes('/events') && ended.push(request.url()))
  await page.addInitScript(`window.heard = []; window.before = new Set(Object.getOwnPropertyNames(window))
for (const name of ['ready', 'saved', 'refused']) addEventListener('quoin-' + name, ({ detail, target }) => heard.push([name, target.localName, detail.fields, detail.code]))`)
  await page.goto(host)
  const formLook = () =>
    page.evaluate(`JSON.stringify([...document.querySelectorAll('form, form *, h1')].map((element) => {
    const { color, font, textTransform, borderTopWidth, letterSpacing } = getComputedStyle(element)
    return [color, font, textTransform, borderTopWidth, letterSpacing, element.value]
  }))`)
  const order = page.locator('quoin-running-order')
  const ids = async () => {
    const { edition } = await client('looker').editions.read(id)
    return edition['field_articles']!.map(({ target_id: article }) => article)
  }
  await shows(order.getByText(articleOf(9)))
  await shows(page.locator('quoin-board').getByText('live', { exact: true }))
  await page.screenshot({ path: join(PICTURES, 'elements.png'), fullPage: true })
  await accessibleAnywhere(t, page, 'the page with the elements')

  t.strictSame(
    await page.evaluate(`(() => {
      const row = document.querySelector('quoin-running-order').shadowRoot.querySelector('li')
      const { marginLeft, fontStyle, letterSpacing } = getComputedStyle(row)
      return [marginLeft, fontStyle, letterSpacing, getComputedStyle(row.querySelector('button')).textTransform]
    })()`),
    ['0px', 'normal', 'normal', 'none'],
    'no style of the page comes in'
  )
  const look = await formLook()
  await page.evaluate(
    `document.querySelectorAll('quoin-running-order, quoin-board').forEach((element) => element.toggleAttribute('hidden'))`
  )
  t.equal(await formLook(), look, 'and none goes out')
  await page.evaluate(`document.querySelectorAll('[hidden]').forEach((element) => element.toggleAttribute('hidden'))`)
  t.strictSame(
    await page.evaluate(
      `Object.getOwnPropertyNames(window).filter((name) => !before.has(name) && !['before', 'axe', '__core-js_shared__', 'litHtmlVersions'].includes(name))`
    ),
    [],
    'there is no global of theirs'
  )
  t.equal(new Set(streams).size, 1, 'both elements, in two languages, follow one stream')

  await press(button(order, `${articleOf(9)} nach oben`))
  await until(async () => String(await ids()) === '4,9,2')
  await order.getByRole('searchbox').focus()
  await page.keyboard.press('Shift+Tab')
  await order.locator('li button[data-to="up"]').nth(1).focus()
  await page.keyboard.press('Control+z')
  await until(async () => String(await ids()) === '4,2,9')
  await client('ben').editions.arrange(id, [{ op: 'move', article: { target_id: 9 }, at: 'start' }])
  await until(async () => (await order.locator('ol > li').first().innerText()).includes(articleOf(9)))
  await until(async () => (await page.evaluate('heard.length')) === 4)
  t.match(await page.evaluate('heard'), [
    ['ready', /^quoin-/],
    ['ready', /^quoin-/],
    ['saved', 'quoin-running-order', ['field_articles']],
    ['saved', 'quoin-running-order', ['field_articles']]
  ])
  const rows = order.locator('ol > li')
  await drag(rows.nth(0), rows.nth(2), 120, 'lower')
  await until(async () => String(await ids()) === '4,2,9')
  t.equal(await page.getByLabel('Notiz').inputValue(), 'Aufmacher klären')
  t.equal(new URL(page.url()).hash, '')

  await page.evaluate(`document.querySelectorAll('quoin-running-order, quoin-board').forEach((element) => element.remove())`)
  await until(async () => ended.length === 1)
  t.strictSame(wrong, [])
})
