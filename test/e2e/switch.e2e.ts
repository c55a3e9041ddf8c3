import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createClient } from '../../lib/client/client.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { button, fieldOf, newsroom, shows, until, type Newsroom } from './harness.ts'

const title = { type: 'publisher_container', id: '60', fieldName: 'title' }
const anna = bearer({ sub: 'anna', name: 'Anna' })
const ben = bearer({ sub: 'ben', name: 'Ben' })

async function openSixty (page: Page, url: string): Promise<void> {
  await page.goto(`${url}/desk#/editions/60`)
  await shows(page.getByText('live', { exact: true }))
}

async function signIn (page: Page, { authorization }: { authorization: string }): Promise<void> {
  await page.getByLabel('Access token').fill(authorization)
  await button(page, 'Sign in').click()
}

/** Presses what leaves the page, and answers the browser's question. */
async function leave (page: Page, name: string, answer: 'accept' | 'dismiss'): Promise<void> {
  const asked = page.waitForEvent('dialog')
  // The press is over only once the question is answered.
  const pressed = button(page, name).click({ noWaitAfter: true })
  const dialog = await asked
  await dialog[answer]()
  await pressed
}

/** What a user would find in the lock of the title, and among the drafts. */
async function textsOf (url: string, user: { authorization: string }): Promise<string[]> {
  const { locks } = createClient({ url, headers: () => user })
  return [...await locks.list(title), ...await locks.drafts(title)].map(({ payload }) => payload ?? '')
}

for (const lease of ['0', '600']) {
  t.test(`with AUTH=jwt and LOCK_LEASE_SECONDS=${lease} nothing of Anna goes out, or is shown, once Ben is signed in`, async (t) => {
    const { url, browser } = await newsroom(t, { ...jwtEnv(t), CMS_AUTH: 'basic', LOCK_LEASE_SECONDS: lease })
    const page = await seated(t, browser)
    await page.goto(`${url}/desk`)
    await signIn(page, anna)
    await shows(page.getByText('You are Anna'))
    await openSixty(page, url)
    await fieldOf(page, 'Title').fill('In the lock')
    await until(async () => (await textsOf(url, anna)).includes('In the lock'))
    await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
    await fieldOf(page, 'Title').fill('In the lock, and last words')
    await shows(page.getByText('Your session has ended.'))

    await signIn(page, ben)
    await shows(page.getByRole('heading', { name: 'Ben is signed in now' }))
    t.equal(await page.getByRole('textbox', { name: /^Title/ }).count(), 0, "Anna's texts are not shown")
    t.notMatch(await page.locator('body').innerText(), /last words/)
    await leave(page, 'Go on as Ben', 'dismiss')
    await shows(page.getByRole('heading', { name: 'Ben is signed in now' }))
    t.equal(await page.evaluate('sessionStorage.getItem("quoin-token")'), 'ended', "who stays has not taken Ben's token")
    await leave(page, 'Go on as Ben', 'accept')
    await shows(page.getByText('You are Ben'))
    await shows(page.getByText('live', { exact: true }))
    t.notMatch(await page.locator('body').innerText(), /last words/, 'Ben sees nothing of it')
    t.strictSame(await textsOf(url, ben), ['In the lock'], 'nothing has gone out under his name')

    await button(page, 'Sign out').click()
    await shows(page.getByRole('heading', { name: 'Who are you?' }))
    await signIn(page, anna)
    await shows(page.getByText('You are Anna'))
    await shows(page.getByRole('complementary').getByText('In the lock, and last words'))
    await button(page, 'Restore the draft of Title').click()
    await until(async () => (await textsOf(url, anna)).includes('In the lock, and last words'))
  })
}

/** A page of its own context, closed when the test ends. */
async function seated (t: Test, browser: Newsroom['browser']): Promise<Page> {
  const context = await browser.newContext()
  context.setDefaultTimeout(30_000)
  t.teardown(() => context.close())
  return context.newPage()
}
