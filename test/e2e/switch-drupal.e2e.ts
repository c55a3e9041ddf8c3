import t from 'tap'
import { button, fieldOf, hides, newsroom, shows, until } from './harness.ts'
import { AWAY, leave, openSixty, otherTab, OUTAGES, seated, sharedHost, tellOfLogin, textsOf } from './users.ts'

for (const { when, lease, answer } of OUTAGES) {
  t.test(`with AUTH=drupal and LOCK_LEASE_SECONDS=${lease} nothing of Anna goes out, or is shown, when Ben logs in in another tab ${when} an outage`, async (t) => {
    const { url, cmsUrl, browser, stop } = await newsroom(t, { AUTH: 'drupal', CMS_AUTH: 'passthrough', CMS_USER: '', CMS_PASSWORD: '', LOCK_LEASE_SECONDS: lease })
    const host = await sharedHost(t, { url, cmsUrl })
    const page = await seated(t, browser)
    const login = await otherTab(page, host)
    const [editor, editor2] = ['editor', 'editor2'].map((name) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` })) as [{ authorization: string }, { authorization: string }]
    const comes = async (phase: typeof when) => { if (phase === when) await login('editor2') }

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
    t.strictSame(await textsOf(url, editor2), [when === 'after' ? 'In the lock, and last words' : 'In the lock'], 'nothing has gone out under his name')

    await login('editor')
    if (answer === 'dismiss') {
      await tellOfLogin(page)
    } else {
      await page.reload()
      await shows(page.getByText('You are editor', { exact: true }))
      await button(page, 'Restore the draft of Title').click()
    }
    const last = when === 'after' ? 'In the lock, and very last words' : 'In the lock, and last words'
    await until(async () => (await textsOf(url, editor)).includes(last))
    await hides(page.getByText(/^Nothing was done/))
  })
}
