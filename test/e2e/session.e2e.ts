import t from 'tap'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { createClient } from '../../packages/client/src/client.ts'
import { button, fieldOf, hides, newsroom, press, shows, until } from './harness.ts'
import { openSixty, sharedHost, tellOfLogin, title } from './users.ts'

t.test('with AUTH=jwt who has a new token goes on in the page, with what was typed since the old one ended', async (t) => {
  const { url, browser } = await newsroom(t, { ...jwtEnv(t), CMS_AUTH: 'basic' })
  const anna = { sub: 'anna', name: 'Anna' }
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const signIn = async (token: string) => {
    await page.getByLabel('Access token').fill(token)
    await press(button(page, 'Sign in'))
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
  await press(button(page, 'Save changes'))
  await shows(page.getByText('Saved.'))

  await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
  await fieldOf(page, 'Title').fill('Typed after the end')
  await shows(page.getByText('Your session has ended.'))
  await page.route('**/api/desk/me', (route) => route.abort(), { times: 1 })
  await signIn(bearer(anna).authorization)
  await hides(page.getByText('Sign in with a new token to go on.'))
  await until(async () => (await locks.list(title)).at(0)?.payload === 'Typed after the end')
  t.equal(await page.getByText('The service cannot be reached.').count(), 0, 'it could not for a moment only')
  await press(button(page, 'Save changes'))
  await shows(page.getByText('Saved.'))

  await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
  await fieldOf(page, 'Title').focus()
  await shows(page.getByText('Your session has ended.'))
  await signIn(bearer({ sub: 'ben', name: 'Ben' }).authorization)
  await press(button(page, 'Go on as Ben'))
  await shows(page.getByText('You are Ben'))
})

t.test('with AUTH=drupal who has logged in again in another tab goes on in the page', async (t) => {
  const { url, browser, cmsUrl } = await newsroom(t, { AUTH: 'drupal', CMS_AUTH: 'passthrough', CMS_USER: '', CMS_PASSWORD: '' })
  const host = await sharedHost(t, { url, cmsUrl })
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const other = await context.newPage()
  await other.goto(`${host}/session/token`)
  const login = () =>
    other.evaluate(`fetch('/user/login?_format=json', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: 'editor', pass: 'editor' })
  }).then((answer) => answer.json()).then((body) => body.logout_token)`)
  const token = await login()
  const page = await context.newPage()
  await openSixty(page, host)
  await fieldOf(page, 'Title').fill('First')
  await press(button(page, 'Save changes'))
  await shows(page.getByText('Saved.'))
  await other.evaluate(`fetch('/user/logout?_format=json&token=${token}', { method: 'POST' }).then(({ status }) => status)`)
  await login()
  await fieldOf(page, 'Title').fill('Second')
  await press(button(page, 'Save changes'))
  const saved = `fetch('/api/collection/60').then((answer) => answer.json()).then(({ title }) => title[0].value)`
  await until(async () => (await other.evaluate(saved)) === 'Second')

  await context.clearCookies()
  await fieldOf(page, 'Title').fill('Third')
  await shows(page.getByText('Your session has ended. Log in to Drupal in another tab to go on.'))
  await login()
  await tellOfLogin(page)
  await hides(page.getByText('Log in to Drupal in another tab'))
  await press(button(page, 'Save changes'))
  await shows(page.getByText('Saved.'))
})
