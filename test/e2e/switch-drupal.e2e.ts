import t, { type Test } from 'tap'
import { button, fieldOf, hides, newsroom, press, shows, until } from './harness.ts'
import { AWAY, leave, openSixty, otherTab, OUTAGES, seated, sharedHost, tellOfLogin, textsOf } from './users.ts'

/** A page in which the account editor has a text in the lock of a title, and another tab of the same browser. */
async function editorAtWork(t: Test, env: Record<string, string>) {
  const { url, cmsUrl, browser, stop } = await newsroom(t, {
    AUTH: 'drupal',
    CMS_AUTH: 'passthrough',
    CMS_USER: '',
    CMS_PASSWORD: '',
    ...env
  })
  const host = await sharedHost(t, { url, cmsUrl })
  const page = await seated(t, browser)
  const login = await otherTab(page, host)
  await login('editor')
  await openSixty(page, host)
  await fieldOf(page, 'Title').fill('In the lock')
  await until(async () => (await textsOf(url, editor)).includes('In the lock'))
  return { url, page, login, stop }
}

const [editor, editor2] = ['editor', 'editor2'].map((name) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` })) as [
  { authorization: string },
  { authorization: string }
]

t.test('with AUTH=drupal a page that becomes visible again notices by itself that somebody else has logged in', async (t) => {
  const { url, page, login } = await editorAtWork(t, { LOCK_LEASE_SECONDS: '0' })
  const become = (state: string) =>
    page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' }), document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`
    )
  await become('hidden')
  await login('editor2')
  await new Promise((resolve) => setTimeout(resolve, 1000))
  await shows(page.getByText('You are editor', { exact: true }))
  await become('visible')
  await shows(page.getByRole('heading', { name: 'editor2 is signed in now' }))
  t.notMatch(await page.locator('body').innerText(), /In the lock/)
  t.strictSame(await textsOf(url, editor2), ['In the lock'], 'nothing has gone out under his name')
  await become('hidden')
  await login('editor')
  await become('visible')
  await shows(page.getByText('You are editor', { exact: true }))
  t.equal(await fieldOf(page, 'Title').inputValue(), 'In the lock', 'who comes back goes on')
})

t.test('with AUTH=drupal nothing of Anna goes out, or is shown, when her lease ends during an outage in which Ben logs in', async (t) => {
  const { url, page, login, stop } = await editorAtWork(t, { LOCK_LEASE_SECONDS: '5' })
  const start = await stop()
  await fieldOf(page, 'Title').fill('In the lock, and last words')
  await shows(page.getByText(AWAY))
  await login('editor2')
  await new Promise((resolve) => setTimeout(resolve, 6000))
  await start()
  await shows(page.getByRole('heading', { name: 'editor2 is signed in now' }))
  t.notMatch(await page.locator('body').innerText(), /In the lock/)
  t.strictSame(await textsOf(url, editor2), [], 'nothing has gone out under his name')
  await leave(page, 'Go on as editor2', 'accept')
  await shows(page.getByText('You are editor2'))
  await shows(page.getByText('live', { exact: true }))
  t.notMatch(await page.locator('body').innerText(), /In the lock/)

  await login('editor')
  await page.reload()
  await shows(page.getByText('You are editor', { exact: true }))
  await press(button(page, 'Restore the draft of Title').first())
  await until(async () => (await textsOf(url, editor)).includes('In the lock, and last words'))
})

for (const { when, lease, answer } of OUTAGES) {
  t.test(
    `with AUTH=drupal and LOCK_LEASE_SECONDS=${lease} nothing of Anna goes out, or is shown, when Ben logs in in another tab ${when} an outage`,
    async (t) => {
      const { url, cmsUrl, browser, stop } = await newsroom(t, {
        AUTH: 'drupal',
        CMS_AUTH: 'passthrough',
        CMS_USER: '',
        CMS_PASSWORD: '',
        LOCK_LEASE_SECONDS: lease
      })
      const host = await sharedHost(t, { url, cmsUrl })
      const page = await seated(t, browser)
      const login = await otherTab(page, host)
      const comes = async (phase: typeof when) => {
        if (phase === when) await login('editor2')
      }

      await login('editor')
      await openSixty(page, host)
      await fieldOf(page, 'Title').fill('In the lock')
      await until(async () => (await textsOf(url, editor)).includes('In the lock'))
      await comes('before')
      const start = await stop()
      await fieldOf(page, 'Title').fill('In the lock, and last words')
      await shows(page.getByText(AWAY))
      await comes('during')
      await start()
      if (when === 'after') {
        await until(async () => (await textsOf(url, editor)).includes('In the lock, and last words'))
        await comes('after')
        await fieldOf(page, 'Title').fill('In the lock, and very last words')
      }

      await shows(page.getByRole('heading', { name: 'editor2 is signed in now' }))
      t.notMatch(await page.locator('body').innerText(), /last words/)
      await leave(page, 'Go on as editor2', answer)
      if (answer === 'accept') {
        await shows(page.getByText('You are editor2'))
        await shows(page.getByText('live', { exact: true }))
        t.notMatch(await page.locator('body').innerText(), /very last words/)
      }
      t.strictSame(
        await textsOf(url, editor2),
        [when === 'after' ? 'In the lock, and last words' : 'In the lock'],
        'nothing has gone out under his name'
      )

      await login('editor')
      if (answer === 'dismiss') {
        await tellOfLogin(page)
      } else {
        await page.reload()
        await shows(page.getByText('You are editor', { exact: true }))
        await press(button(page, 'Restore the draft of Title'))
      }
      const last = when === 'after' ? 'In the lock, and very last words' : 'In the lock, and last words'
      await until(async () => (await textsOf(url, editor)).includes(last))
      await hides(page.getByText(/^Nothing was done/))
    }
  )
}
