import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { bearer } from '../auth/fixtures.ts'
import { button, hides, press, shows, type Newsroom } from './harness.ts'
import { startFront } from '../fixtures/front.ts'

export const title = { type: 'publisher_container', id: '60', fieldName: 'title' }
export const anna = bearer({ sub: 'anna', name: 'Anna' })
export const ben = bearer({ sub: 'ben', name: 'Ben' })

/** What a field says whose text cannot be sent. */
export const AWAY = 'The lock service does not answer. Your text is in this browser alone.'

/** When the user changes, with which leases, and what Anna answers when she is asked whether to leave her texts. */
export const OUTAGES = [
  { when: 'before', lease: '0', answer: 'accept' },
  { when: 'during', lease: '600', answer: 'dismiss' },
  { when: 'after', lease: '0', answer: 'accept' }
] as const

export async function openSixty(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/desk#/editions/60`)
  await shows(page.getByText('live', { exact: true }))
}

export async function signIn(page: Page, { authorization }: { authorization: string }): Promise<void> {
  await page.getByLabel('Access token').fill(authorization)
  await press(button(page, 'Sign in'))
}

/** Presses what leaves the page, and answers the browser's question. */
export async function leave(page: Page, name: string, answer: 'accept' | 'dismiss'): Promise<void> {
  const asked = page.waitForEvent('dialog')
  // The press is over only once the question is answered.
  const pressed = press(button(page, name), { noWaitAfter: true })
  const dialog = await asked
  await dialog[answer]()
  await pressed
}

/** What a user would find in the lock of the title, and among the drafts. */
export async function textsOf(url: string, user: { authorization: string }): Promise<string[]> {
  const { locks } = createClient({ url, headers: () => user })
  return [...(await locks.list(title)), ...(await locks.drafts(title))].map(({ payload }) => payload ?? '')
}

/** Another tab of the page's browser, where somebody logs out of Drupal and somebody else in. */
export async function otherTab(page: Page, host: string): Promise<(name: string) => Promise<void>> {
  const other = await page.context().newPage()
  await other.goto(`${host}/session/token`)
  let token: unknown
  return async (name) => {
    if (token) await other.evaluate(`fetch('/user/logout?_format=json&token=${token}', { method: 'POST' }).then(({ status }) => status)`)
    token = await other.evaluate(`fetch('/user/login?_format=json', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name: '${name}', pass: '${name}' })
    }).then((answer) => answer.json()).then((body) => body.logout_token)`)
  }
}

/** Tells the page of a login in another tab, unless it notices by itself. */
export async function tellOfLogin(page: Page): Promise<void> {
  const told = button(page, 'I have logged in')
  await Promise.race([press(told), hides(told)])
}

/** The address at which Drupal and Quoin are on one host, as docs/desk.md has it; closed when the test ends. */
export function sharedHost(t: Test, { url, cmsUrl }: Pick<Newsroom, 'url' | 'cmsUrl'>): Promise<string> {
  return startFront(t, (path) => (/^\/(session|user)\//.test(path) ? cmsUrl : url) + path)
}

/** A page of its own context, closed when the test ends. */
export async function seated(t: Test, browser: Newsroom['browser']): Promise<Page> {
  const context = await browser.newContext()
  context.setDefaultTimeout(30_000)
  t.teardown(() => context.close())
  return context.newPage()
}
