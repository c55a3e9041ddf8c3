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

t.test('while the service itself is away', async (t) => {
  const { seat, stop, edition, client } = await newsroom(t)
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
  t.strictSame(await locks.list(title), [])
})
