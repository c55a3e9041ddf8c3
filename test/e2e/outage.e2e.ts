import t from 'tap'
import { button, fieldOf, hides, newsroom, openEdition, press, rows, shows, until } from './harness.ts'

t.test('while the CMS is down', async (t) => {
  const { cms, seat, edition, client } = await newsroom(t)
  const id = await edition('Before the storm')
  const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
  await shows(anna.getByText('of 61 editions'))
  await anna.goto(`${anna.url().split('#')[0]}#/editions/${id}`)
  await shows(anna.getByRole('heading', { level: 1, name: 'Before the storm' }))
  cms.settings.maintenance = true
  t.teardown(() => {
    cms.settings.maintenance = false
  })

  t.test('lists and editions are shown as they were, and said to be', async () => {
    await anna.reload()
    await shows(anna.getByText(/The CMS does not answer\. This is the edition as it was .* ago\./))
    await shows(anna.getByRole('heading', { level: 1, name: 'Before the storm' }))
    await press(anna.getByRole('link', { name: 'All editions' }))
    await shows(anna.getByText(/The CMS does not answer\. This is the list as it was .* ago\./))
    await shows(rows(anna))
    await anna.goBack()
  })

  t.test('locks work on, live, and keep what is typed', async (t) => {
    await ben.goto(`${ben.url().split('#')[0]}#/editions/${id}`)
    await ben.getByText(/This is the edition as it was/).waitFor()
    for (const page of [anna, ben]) await page.getByText('live', { exact: true }).waitFor()
    await fieldOf(anna, 'Title').fill('After the storm')
    await shows(ben.getByText(/^Anna is editing this/))
    await until(
      async () =>
        (await client('x').locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)?.payload === 'After the storm'
    )
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText(/^Not saved: .*Your text is kept; save again later\.$/))
    t.equal(await fieldOf(anna, 'Title').inputValue(), 'After the storm')
  })

  t.test('when it is back, what was typed is saved', async (t) => {
    cms.settings.maintenance = false
    await hides(anna.getByText(/This is the edition as it was/))
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    await shows(ben.getByRole('heading', { level: 1, name: 'After the storm' }))
    t.match((await client('x').editions.read(id)).edition, { title: [{ value: 'After the storm' }] })
  })
})

/** What keeps texts off a browser's disk, and what the page says of it. Without a script its quota is one byte. */
const DISKS: Array<[user: string, script: string | undefined, words: string]> = [
  ['anna', undefined, 'This browser has no room for it.'],
  [
    'ben',
    "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError') } })",
    'This browser does not let this page keep it.'
  ],
  [
    'carla',
    "IDBObjectStore.prototype.put = () => { throw new DOMException('no', 'UnknownError') }",
    'This browser does not let this page keep it.'
  ],
  ['dora', 'IDBFactory.prototype.open = () => new EventTarget()', 'The storage of this browser does not answer.']
]

t.test('while the service itself is away', async (t) => {
  const { url, seat, stop, edition, client } = await newsroom(t)
  t.test('a text that the disk does not take is said to be in the window alone', async (t) => {
    await Promise.all(
      DISKS.map(async ([user, script, words]) => {
        const id = await edition(`The disk of ${user}`)
        const page = await seat(t, user)
        if (script === undefined) {
          const devtools = await page.context().newCDPSession(page)
          await devtools.send('Storage.overrideQuotaForOrigin', { origin: url, quotaSize: 1 })
        } else {
          await page.addInitScript(script)
          await page.reload()
        }
        await openEdition(page, id, `The disk of ${user}`)
        await page.route('**/api/cloud/**', (route) => route.abort())
        await fieldOf(page, 'Title').fill('Nowhere else')
        await shows(page.getByText(`The lock service does not answer. Your text is in this window alone. ${words}`))
        await page.unroute('**/api/cloud/**')
        await shows(page.getByText(/^You are editing this kept /))
      })
    )
  })

  const id = await edition('Before the deployment')
  const { locks } = client('looker')
  const title = { type: 'publisher_container', id, fieldName: 'title' }
  const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
  for (const page of [anna, ben]) await openEdition(page, id, 'Before the deployment')
  await fieldOf(anna, 'Title').fill('Before')
  await until(async () => (await locks.list(title)).at(0)?.payload === 'Before')
  await shows(ben.getByText(/^Anna is editing this/))
  const start = await stop()
  for (const page of [anna, ben]) await page.getByText('connecting', { exact: true }).waitFor()
  await fieldOf(anna, 'Title').pressSequentially(' and after', { delay: 20 })
  await shows(anna.getByText('The lock service does not answer. Your text is in this browser alone.'))
  const asked = anna.waitForEvent('dialog')
  await anna.close({ runBeforeUnload: true })
  t.equal((await asked).type(), 'beforeunload', 'who closes the window is asked')
  await (await asked).dismiss()
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText(/^Not saved: Quoin could not be reached/))
  await start()
  for (const page of [anna, ben]) await page.getByText('live', { exact: true }).waitFor()
  await until(async () => (await locks.list(title)).at(0)?.payload === 'Before and after')
  await hides(anna.getByText('The lock service does not answer.'))
  t.equal(await fieldOf(ben, 'Title').isEditable(), false)
  await press(button(anna, 'Save changes'))
  await shows(ben.getByRole('heading', { level: 1, name: 'Before and after' }))
  await until(async () => (await locks.list(title)).length === 0)
})
