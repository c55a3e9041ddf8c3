import t from 'tap'
import { accessibleAnywhere } from './axe.ts'
import { hides, newsroom, press, rows, shows, until } from './harness.ts'

t.test('the list of editions', async (t) => {
  const { seat, client, edition } = await newsroom(t)

  t.test('it is searched as one types, filtered, and paged through with totals', async (t) => {
    const anna = await seat(t, 'anna')
    await shows(anna.getByText('1–20 of 60 editions'))
    t.equal(await rows(anna).count(), 20)
    const first = await rows(anna).first().getByRole('link').textContent()
    await press(anna.getByRole('link', { name: 'Next page' }))
    await shows(anna.getByText('21–40 of 60 editions'))
    await press(anna.getByRole('link', { name: 'Next page' }))
    await shows(anna.getByText('41–60 of 60 editions'))
    t.equal(await anna.getByRole('link', { name: 'Next page' }).count(), 0)
    await anna.goBack()
    await shows(anna.getByText('21–40 of 60 editions'))
    await press(anna.getByRole('link', { name: 'Previous page' }))
    await shows(anna.getByText('1–20 of 60 editions'))
    t.equal(await rows(anna).first().getByRole('link').textContent(), first)

    await anna.getByRole('searchbox', { name: 'Search titles' }).pressSequentially('october')
    await shows(anna.getByText('1–20 of 26 editions'))
    t.ok((await rows(anna).getByRole('link').allTextContents()).every((title) => /october/i.test(title)))
    await anna.getByRole('combobox', { name: 'Status' }).selectOption('Not published')
    await until(async () => (await rows(anna).getByText('Not published').count()) === (await rows(anna).count()))
    await anna.getByRole('combobox', { name: 'Type' }).selectOption('Special Editions')
    await shows(anna.getByText('No editions match.'))
    await press(anna.getByRole('link', { name: 'Show all' }))
    await shows(anna.getByText('1–20 of 60 editions'))
    t.equal(await anna.getByRole('searchbox', { name: 'Search titles' }).inputValue(), '', 'no box says otherwise')
    await anna.getByRole('textbox', { name: 'Key' }).fill('daily-2026-10-07')
    await shows(anna.getByText('1–1 of 1 edition'))
    t.match(await anna.evaluate('location.hash'), 'key=daily-2026-10-07', 'the address leads here again')
  })

  t.test('it shows who is in there now, and leads there', async (t) => {
    const anna = await seat(t, 'anna')
    const [page] = [await client('x').editions.search({ limit: 1 }).next()]
    const [newest] = page.value!.editions
    const held = await client('ben').locks.acquire({
      type: 'publisher_container',
      id: String(newest!['id']![0]!['value']),
      fieldName: 'title'
    })
    await anna.reload()
    await shows(rows(anna).first().getByRole('img', { name: 'Ben' }))
    await press(rows(anna).first().getByRole('link'))
    await shows(anna.getByRole('heading', { level: 1, name: String(newest!['title']![0]!['value']) }))
    await shows(anna.getByText(/^Ben is editing this/))
    await held.release()
    await hides(anna.getByText(/^Ben is editing this/))
    await press(anna.getByRole('link', { name: 'All editions' }))
    await shows(anna.getByRole('heading', { level: 1, name: 'Editions' }))
  })

  t.test('it is live: locks, saves and new editions come by themselves, and rows wait for the reader', async (t) => {
    const anna = await seat(t, 'anna')
    await shows(anna.getByText(/^1–20 of \d+ editions$/))
    const { value } = await client('x').editions.search({ limit: 1 }).next()
    const [newest] = value!.editions
    const id = String(newest!['id']![0]!['value'])
    await hides(rows(anna).first().getByRole('img', { name: 'Ben' }))
    const held = await client('ben').locks.acquire({ type: 'publisher_container', id, fieldName: 'title' })
    await shows(rows(anna).first().getByRole('img', { name: 'Ben' }))
    await client('ben').editions.update(id, { title: [{ value: 'Saved by Ben' }] })
    await shows(rows(anna).first().getByRole('link', { name: 'Saved by Ben' }))
    await held.release()
    await hides(rows(anna).first().getByRole('img', { name: 'Ben' }))
    const link = rows(anna).first().getByRole('link')
    await link.focus()
    await edition('The newest of all')
    await shows(rows(anna).first().getByRole('link', { name: 'The newest of all' }))
    t.equal(await anna.evaluate('document.activeElement.textContent'), 'Saved by Ben', 'the focus stays with its row')
  })

  t.test('who comes back to the list is where they were in it', async (t) => {
    const anna = await seat(t, 'anna')
    await press(rows(anna).nth(17).getByRole('link'))
    await shows(anna.getByRole('heading', { name: 'Lock board' }))
    t.equal(await anna.evaluate('scrollY'), 0, 'an edition is shown from its top')
    await anna.goBack()
    await until(() => anna.evaluate('scrollY > 300'))
    await anna.reload()
    await until(() => anna.evaluate('scrollY > 300'))
    t.equal(await anna.evaluate('document.activeElement.tagName'), 'BODY')
  })

  t.test('an address that is none of an edition says so, and leads back', async (t) => {
    const anna = await seat(t, 'anna')
    const page = anna.url().split('#')[0]
    for (const [hash, id] of [
      ['#/editions/abc', 'abc'],
      ['#/editions/a b', 'a b'],
      ['#/editions/%zz', '%zz'],
      [`#/editions/${'x'.repeat(5000)}`, `${'x'.repeat(60)}…`],
      ['#/new?from=x', 'x']
    ]) {
      await anna.goto(`${page}${hash}`)
      await shows(anna.getByText(`There is no edition “${id}”: an edition has a number or a UUID`))
      await until(() => anna.evaluate('document.activeElement.textContent === "This edition cannot be shown"'))
    }
    await anna.goto(`${page}#/lists/unknown`)
    await shows(anna.getByRole('heading', { level: 1, name: 'There is no such page' }))
    t.equal(await anna.title(), 'There is no such page · Quoin desk')
    await accessibleAnywhere(t, anna, 'an address that the page does not have')
    await press(anna.getByRole('link', { name: 'All editions' }))
    await shows(rows(anna))
  })
})
