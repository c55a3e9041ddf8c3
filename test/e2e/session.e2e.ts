import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t from 'tap'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { createClient } from '../../lib/client/client.ts'
import { button, fieldOf, hides, newsroom, shows, until } from './harness.ts'

const title = { type: 'publisher_container', id: '60', fieldName: 'title' }

async function openSixty (page: Page, url: string): Promise<void> {
  await page.goto(`${url}/desk#/editions/60`)
  await shows(page.getByText('live', { exact: true }))
}

t.test('with AUTH=jwt who has a new token goes on in the page, with what was typed since the old one ended', async (t) => {
  const { url, browser } = await newsroom(t, { ...jwtEnv(t), CMS_AUTH: 'basic' })
  const anna = { sub: 'anna', name: 'Anna' }
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const signIn = async (token: string) => {
    await page.getByLabel('Access token').fill(token)
    await button(page, 'Sign in').click()
  }
  await page.goto(`${url}/desk`)
  await signIn(bearer(anna).authorization)
  await shows(page.getByText('You are Anna'))
  await openSixty(page, url)
  await fieldOf(page, 'Title').fill('Typed in time')
  await shows(page.getByText('You are editing this'))
  await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
  await fieldOf(page, 'Title').fill('Typed in time, and half an hour more')
  await shows(page.getByText('Your session has ended. Sign in with a new token to go on.'))
  await signIn('another')
  await hides(page.getByText('Your session has ended.'))
  await shows(page.getByRole('alert').getByText('Sign in with a new token to go on.'))
  await signIn(bearer(anna).authorization)
  await hides(page.getByText('Sign in with a new token to go on.'))
  const { locks } = createClient({ url, headers: () => bearer(anna) })
  await until(async () => (await locks.list(title)).at(0)?.payload === 'Typed in time, and half an hour more')
  await button(page, 'Save changes').click()
  await shows(page.getByText('Saved.'))

  await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
  await fieldOf(page, 'Title').fill('Typed after the end')
  await shows(page.getByText('Your session has ended.'))
  await page.route('**/api/desk/me', (route) => route.abort(), { times: 1 })
  await signIn(bearer(anna).authorization)
  await hides(page.getByText('Sign in with a new token to go on.'))
  await until(async () => (await locks.list(title)).at(0)?.payload === 'Typed after the end')
  t.equal(await page.getByText('The service cannot be reached.').count(), 0, 'it could not for a moment only')
  await button(page, 'Save changes').click()
  await shows(page.getByText('Saved.'))

  await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
  await fieldOf(page, 'Title').focus()
  await shows(page.getByText('Your session has ended.'))
  await signIn(bearer({ sub: 'ben', name: 'Ben' }).authorization)
  await button(page, 'Go on as Ben').click()
  await shows(page.getByText('You are Ben'))
})

t.test('with AUTH=drupal who has logged in again in another tab goes on in the page', async (t) => {
  const { url, browser, cmsUrl } = await newsroom(t, { AUTH: 'drupal', CMS_AUTH: 'passthrough', CMS_USER: '', CMS_PASSWORD: '' })
  // Drupal and Quoin on one host, as the README has it.
  const front = createServer((given, answer) => {
    const onward = request((/^\/(session|user)\//.test(given.url!) ? cmsUrl : url) + given.url, { method: given.method, headers: given.headers }, (from) => {
      answer.writeHead(from.statusCode!, from.headers)
      from.pipe(answer)
    })
    given.pipe(onward)
    answer.on('close', () => onward.destroy())
    onward.on('error', () => answer.destroy())
  })
  await new Promise<void>((resolve) => { front.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { front.closeAllConnections(); front.close() })
  const host = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const other = await context.newPage()
  await other.goto(`${host}/session/token`)
  const login = () => other.evaluate(`fetch('/user/login?_format=json', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: 'editor', pass: 'editor' })
  }).then((answer) => answer.json()).then((body) => body.logout_token)`)
  const token = await login()
  const page = await context.newPage()
  await openSixty(page, host)
  await fieldOf(page, 'Title').fill('First')
  await button(page, 'Save changes').click()
  await shows(page.getByText('Saved.'))
  await other.evaluate(`fetch('/user/logout?_format=json&token=${token}', { method: 'POST' }).then(({ status }) => status)`)
  await login()
  await fieldOf(page, 'Title').fill('Second')
  await button(page, 'Save changes').click()
  await shows(page.getByText(/^Not saved: .*X-CSRF-Token/))
  await button(page, 'Save changes').click()
  await shows(page.getByText('Saved.'))

  await context.clearCookies()
  await fieldOf(page, 'Title').fill('Third')
  await shows(page.getByText('Your session has ended. Log in to Drupal in another tab to go on.'))
  await login()
  await button(page, 'I have logged in').click()
  await hides(page.getByText('Log in to Drupal in another tab'))
  await button(page, 'Save changes').click()
  await shows(page.getByText('Saved.'))
})
