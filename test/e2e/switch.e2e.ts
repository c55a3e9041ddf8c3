import t, { type Test } from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { jwtEnv } from '../auth/fixtures.ts'
import { button, fieldOf, newsroom, press, shows, until } from './harness.ts'
import { anna, AWAY, ben, leave, openSixty, OUTAGES, seated, signIn, textsOf, title } from './users.ts'

/** A newsroom in which Anna's text is in the lock of a title. */
async function annaAtWork(t: Test, lease: string) {
  const { url, browser, stop } = await newsroom(t, { ...jwtEnv(t), CMS_AUTH: 'basic', LOCK_LEASE_SECONDS: lease })
  const page = await seated(t, browser)
  await page.goto(`${url}/desk`)
  await signIn(page, anna)
  await shows(page.getByText('You are Anna'))
  await openSixty(page, url)
  await fieldOf(page, 'Title').fill('In the lock')
  await until(async () => (await textsOf(url, anna)).includes('In the lock'))

  /** Anna's token ends, and she types on. */
  async function end(text: string): Promise<void> {
    await page.evaluate('sessionStorage.setItem("quoin-token", "ended")')
    await fieldOf(page, 'Title').fill(text)
    await shows(page.getByText('Your session has ended.'))
  }
  return { url, page, stop, end }
}

for (const lease of ['0', '600']) {
  t.test(`with AUTH=jwt and LOCK_LEASE_SECONDS=${lease} nothing of Anna goes out, or is shown, once Ben is signed in`, async (t) => {
    const { url, page, end } = await annaAtWork(t, lease)
    await end('In the lock, and last words')

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

    await press(button(page, 'Sign out'))
    await shows(page.getByRole('heading', { name: 'Who are you?' }))
    await signIn(page, anna)
    await shows(page.getByText('You are Anna'))
    await shows(page.getByRole('complementary').getByText('In the lock, and last words'))
    await press(button(page, 'Restore the draft of Title'))
    await until(async () => (await textsOf(url, anna)).includes('In the lock, and last words'))
  })
}

t.test('with AUTH=jwt nothing of Anna goes out, or is shown, when her lease ends during an outage and Ben signs in', async (t) => {
  const { url, page, stop, end } = await annaAtWork(t, '5')
  await end('In the lock, and last words')
  const start = await stop()
  await new Promise((resolve) => setTimeout(resolve, 6000))
  await signIn(page, ben)
  await shows(page.getByText('The service cannot be reached.'))
  await start()
  await shows(page.getByRole('heading', { name: 'Ben is signed in now' }))
  t.notMatch(await page.locator('body').innerText(), /In the lock/)
  t.strictSame(await textsOf(url, ben), [], 'nothing has gone out under his name')
  await leave(page, 'Go on as Ben', 'accept')
  await shows(page.getByText('You are Ben'))
  await shows(page.getByText('live', { exact: true }))
  await fieldOf(page, 'Title').fill("Ben's own")
  await until(async () => (await textsOf(url, ben)).includes("Ben's own"))
  t.strictSame(await textsOf(url, ben), ["Ben's own"])
  t.notMatch(await page.locator('body').innerText(), /In the lock/)
  await press(button(page, 'Sign out'))
  await shows(page.getByRole('heading', { name: 'Who are you?' }))

  await signIn(page, anna)
  await shows(page.getByText('You are Anna'))
  const drafts = page.getByRole('complementary')
  await shows(drafts.getByText('In the lock, and last words'))
  t.strictSame((await textsOf(url, anna)).toSorted(), ["Ben's own", 'In the lock'], 'the text in the lock has become a draft of hers')
})

t.test('with LOCK_REFUSED_STATUS=200 the desk looks who is signed in after a refusal too', async (t) => {
  const { url, browser } = await newsroom(t, { ...jwtEnv(t), CMS_AUTH: 'basic', LOCK_REFUSED_STATUS: '200' })
  const page = await seated(t, browser)
  // Else the board tells of Ben's lock first, and nothing is asked for. Its stream is the window's own.
  await page.addInitScript('delete window.SharedWorker')
  await page.route(/\/events/, (route) => route.abort())
  await page.goto(`${url}/desk`)
  await signIn(page, anna)
  await shows(page.getByText('You are Anna'))
  await page.goto(`${url}/desk#/editions/60`)
  await shows(fieldOf(page, 'Title'))
  await createClient({ url, headers: () => ben }).locks.acquire(title)
  const refused = page.waitForResponse((answer) => answer.request().method() === 'POST' && answer.url().endsWith('/publisher_container/60'))
  const looked = page.waitForRequest(/\/api\/desk\/me$/)
  await fieldOf(page, 'Title').focus()
  t.equal((await refused).status(), 200)
  await looked
  await shows(page.getByText(/^Ben is editing this/))
})

for (const { when, lease, answer } of OUTAGES) {
  t.test(
    `with AUTH=jwt and LOCK_LEASE_SECONDS=${lease} nothing of Anna goes out, or is shown, when Ben signs in ${when} an outage`,
    async (t) => {
      const { url, page, stop, end } = await annaAtWork(t, lease)
      if (when !== 'after') await end('In the lock, and last words')
      if (when === 'before') {
        await signIn(page, ben)
        await shows(page.getByRole('heading', { name: 'Ben is signed in now' }))
      }
      const start = await stop()
      if (when === 'during') {
        await signIn(page, ben)
        await shows(page.getByText('The service cannot be reached.'))
      }
      if (when === 'after') {
        await fieldOf(page, 'Title').fill('In the lock, and last words')
        await shows(page.getByText(AWAY))
      }
      await start()
      if (when === 'after') {
        await until(async () => (await textsOf(url, anna)).includes('In the lock, and last words'))
        await end('In the lock, and very last words')
        await signIn(page, ben)
      }

      await shows(page.getByRole('heading', { name: 'Ben is signed in now' }))
      t.notMatch(await page.locator('body').innerText(), /last words/)
      await leave(page, 'Go on as Ben', answer)
      if (answer === 'accept') {
        await shows(page.getByText('You are Ben'))
        await shows(page.getByText('live', { exact: true }))
        t.notMatch(await page.locator('body').innerText(), /very last words/)
        await press(button(page, 'Sign out'))
        await shows(page.getByRole('heading', { name: 'Who are you?' }))
      }
      t.strictSame(
        await textsOf(url, ben),
        [when === 'after' ? 'In the lock, and last words' : 'In the lock'],
        'nothing has gone out under his name'
      )

      await signIn(page, anna)
      if (answer === 'accept') {
        await shows(page.getByText('You are Anna'))
        await press(button(page, 'Restore the draft of Title'))
      }
      const last = when === 'after' ? 'In the lock, and very last words' : 'In the lock, and last words'
      await until(async () => (await textsOf(url, anna)).includes(last))
    }
  )
}
