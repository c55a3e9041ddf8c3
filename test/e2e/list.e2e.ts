import t from 'tap'
import type { Page } from 'playwright-core'
import { newsroom, shows, hides, until } from './harness.ts'

const rows = (page: Page) => page.getByRole('list', { name: 'Editions found' }).getByRole('listitem')

t.test('the list of editions', async (t) => {
  const { seat, client } = await newsroom(t)

  t.test('it is searched as one types, filtered, and paged through with totals', async (t) => {
    const anna = await seat(t, 'anna')
    await shows(anna.getByText('1–20 of 60 editions'))
    t.equal(await rows(anna).count(), 20)
    const first = await rows(anna).first().getByRole('link').textContent()
    await anna.getByRole('link', { name: 'Next page' }).click()
    await shows(anna.getByText('21–40 of 60 editions'))
    await anna.getByRole('link', { name: 'Next page' }).click()
    await shows(anna.getByText('41–60 of 60 editions'))
    t.equal(await anna.getByRole('link', { name: 'Next page' }).count(), 0)
    await anna.goBack()
    await shows(anna.getByText('21–40 of 60 editions'))
    await anna.getByRole('link', { name: 'Previous page' }).click()
    await shows(anna.getByText('1–20 of 60 editions'))
    t.equal(await rows(anna).first().getByRole('link').textContent(), first)

    await anna.getByRole('searchbox', { name: 'Search titles' }).pressSequentially('october')
    await shows(anna.getByText('1–20 of 26 editions'))
    t.ok((await rows(anna).getByRole('link').allTextContents()).every((title) => /october/i.test(title)))
    await anna.getByRole('combobox', { name: 'Status' }).selectOption('Not published')
    await until(async () => (await rows(anna).getByText('Not published').count()) === await rows(anna).count())
    await anna.getByRole('combobox', { name: 'Type' }).selectOption('Special Editions')
    await shows(anna.getByText('No editions match.'))
    await anna.getByRole('link', { name: 'Show all' }).click()
    await shows(anna.getByText('1–20 of 60 editions'))
    await anna.getByRole('textbox', { name: 'Key' }).fill('daily-2026-10-07')
    await shows(anna.getByText('1–1 of 1 edition'))
    t.match(await anna.evaluate('location.hash'), 'key=daily-2026-10-07', 'the address leads here again')
  })

  t.test('it shows who is in there now, and leads there', async (t) => {
    const anna = await seat(t, 'anna')
    const [page] = [await client('x').editions.search({ limit: 1 }).next()]
    const [newest] = page.value!.editions
    const held = await client('ben').locks.acquire({ type: 'publisher_container', id: String(newest!['id']![0]!['value']), fieldName: 'title' })
    await anna.reload()
    await shows(rows(anna).first().getByRole('img', { name: 'Ben' }))
    await rows(anna).first().getByRole('link').click()
    await shows(anna.getByRole('heading', { level: 1, name: String(newest!['title']![0]!['value']) }))
    await shows(anna.getByText(/^Ben is editing this/))
    await held.release()
    await hides(anna.getByText(/^Ben is editing this/))
    await anna.getByRole('link', { name: 'All editions' }).click()
    await shows(anna.getByRole('heading', { level: 1, name: 'Editions' }))
  })
})

t.test('while the CMS is down', async (t) => {
  const { cms, seat, edition, client } = await newsroom(t)
  const id = await edition('Before the storm')
  const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
  await shows(anna.getByText('of 61 editions'))
  await anna.goto(`${anna.url().split('#')[0]}#/editions/${id}`)
  await shows(anna.getByRole('heading', { level: 1, name: 'Before the storm' }))
  cms.settings.maintenance = true
  t.teardown(() => { cms.settings.maintenance = false })

  t.test('lists and editions are shown as they were, and said to be', async () => {
    await anna.reload()
    await shows(anna.getByText(/The CMS does not answer\. This is the edition as it was .* ago\./))
    await shows(anna.getByRole('heading', { level: 1, name: 'Before the storm' }))
    await anna.getByRole('link', { name: 'All editions' }).click()
    await shows(anna.getByText(/The CMS does not answer\. This is the list as it was .* ago\./))
    await shows(rows(anna))
    await anna.goBack()
  })

  t.test('locks work on, live, and keep what is typed', async (t) => {
    await ben.goto(`${ben.url().split('#')[0]}#/editions/${id}`)
    await ben.getByText(/This is the edition as it was/).waitFor()
    for (const page of [anna, ben]) await page.getByText('live', { exact: true }).waitFor()
    await anna.getByRole('textbox', { name: /^Title/ }).fill('After the storm')
    await shows(ben.getByText(/^Anna is editing this/))
    await until(async () => (await client('x').locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)?.payload === 'After the storm')
    await anna.getByRole('button', { name: 'Save changes' }).click()
    await shows(anna.getByText(/^Not saved: .*Your text is kept; save again later\.$/))
    t.equal(await anna.getByRole('textbox', { name: /^Title/ }).inputValue(), 'After the storm')
  })

  t.test('when it is back, what was typed is saved', async (t) => {
    cms.settings.maintenance = false
    await hides(anna.getByText(/This is the edition as it was/))
    await anna.getByRole('button', { name: 'Save changes' }).click()
    await shows(anna.getByText('Saved.'))
    await shows(ben.getByRole('heading', { level: 1, name: 'After the storm' }))
    t.match((await client('x').editions.read(id)).edition, { title: [{ value: 'After the storm' }] })
  })
})
