import type { Page } from 'playwright-core'
import t from 'tap'
import { fieldOf, newsroom, shows, until } from './harness.ts'

/** How many windows a browser has. `WINDOWS=7,12,20` prints the times of all of them. */
const COUNTS = (process.env['WINDOWS'] ?? '7').split(',').map(Number)

/** Has a page believe that it is seen, or in the background: Playwright's pages all are seen. */
const see = (page: Page, is: boolean): Promise<void> =>
  page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${!is} })
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${is ? 'visible' : 'hidden'}' })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }`)

const live = (page: Page) => page.getByText('live', { exact: true })

/** How long a page waits for an answer, in milliseconds: for a connection too. */
const answersIn = (page: Page): Promise<number> =>
  page.evaluate(`(async () => {
    const begun = performance.now()
    await (await fetch('health/live')).text()
    return Math.round(performance.now() - begun)
  })()`)

/** How long something takes, in milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = Date.now()
  await work()
  return Date.now() - begun
}

for (const count of COUNTS) {
  t.test(`${count} windows of one browser, by HTTP/1.1, each work`, async (t) => {
    const { url, seat, edition, client } = await newsroom(t, { LOCK_LEASE_SECONDS: '6' })
    const ids: string[] = []
    for (let number = 1; number <= count; number++) ids.push(await edition(`Window ${number}`))
    const first = await seat(t, 'anna')
    first.context().on('request', (request) => {
      if (request.url().includes('/events')) t.fail('the worker has the streams')
    })
    const windows = [first]
    while (windows.length < count) windows.push(await first.context().newPage())
    const times: number[] = []
    for (const [index, page] of windows.entries()) {
      times.push(
        await timeOf(async () => {
          await page.goto(`${url}/desk?as=anna#/editions/${ids[index]}`)
          await shows(live(page))
        })
      )
      if (page === first) await fieldOf(page, 'Title').fill('Typed in the first')
      // As tabs are: one is seen.
      if (page !== windows.at(-1)) await see(page, false)
    }
    const { locks } = client('looker')
    const title = { type: 'publisher_container', id: ids[0]!, fieldName: 'title' }
    const [lock] = await locks.list(title)
    t.equal(lock!.payload, 'Typed in the first')
    await until(async () => (await locks.list(title))[0]!.version !== lock!.version)
    t.comment(
      `${count} windows: the last is live after ${times.at(-1)} ms, a request of the first is answered in ${await answersIn(first)} ms`
    )
    await client('ben').locks.attend(title)
    await shows(first.getByText('Ben', { exact: true }))
    const second = windows[1]!
    await shows(second.getByText('connecting', { exact: true }))
    await client('ben').editions.update(ids[1]!, { title: [{ value: 'Saved meanwhile' }] })
    t.comment(
      `the second, whose stream had ended, is live again after ${await timeOf(async () => {
        await see(second, true)
        await shows(live(second))
      })} ms`
    )
    await shows(second.getByRole('heading', { level: 1, name: 'Saved meanwhile' }))
  })
}
