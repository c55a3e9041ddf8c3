import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Page } from 'playwright-core'
import { accessibleAnywhere } from './axe.ts'
import { articleOf, button, drag, fieldOf, hides, newsroom, openEdition, PICTURES, press, shows, until } from './harness.ts'

const order = (page: Page) => page.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
const found = (page: Page) => page.getByRole('list', { name: 'Articles found' }).getByRole('listitem')
const search = (page: Page) => page.getByRole('searchbox', { name: 'Search articles' })

/** Pictures of the day are in docs/desk.md. */
const SIZE = { viewport: { width: 1000, height: 720 } }

/** Takes a picture of what the day has come to. */
const picture = (page: Page, nth: number, what: string) =>
  page.screenshot({ path: join(PICTURES, `day-${nth}-${what}.png`), caret: 'initial' })

t.test('two editors make an edition, fill it, order it at once, ask for a field, take it over, lose a tab, and publish it', async (t) => {
  const { url, seat, client } = await newsroom(t)
  const { editions, locks } = client('looker')
  const inOrder = (page: Page, ids: number[]) =>
    until(async () => isDeepStrictEqual(await order(page).locator('.title').allTextContents(), ids.map(articleOf)))
  const articlesOf = async (id: string) => (await editions.read(id)).edition['field_articles']!.map((item) => item['target_id'])
  const [anna, ben] = [await seat(t, 'anna', SIZE), await seat(t, 'ben', SIZE)]

  await press(anna.getByRole('link', { name: 'New edition' }))
  await shows(anna.getByRole('heading', { level: 1, name: 'New edition' }))
  const key = anna.getByRole('textbox', { name: /^Key/ })
  await until(async () => (await key.inputValue()) === 'daily-2026-11-20')
  t.equal(await fieldOf(anna, 'Title').inputValue(), 'Friday, 20 November 2026')
  await picture(anna, 1, 'make')
  await fieldOf(anna, 'Title').fill('')
  await press(button(anna, 'Make it'))
  await shows(anna.getByText('Not made: Title is needed.'))
  await until(() => anna.evaluate('document.activeElement.id === "new-title"'))
  await fieldOf(anna, 'Title').fill('The long day')
  await press(button(anna, 'Make it'))
  await shows(anna.getByRole('heading', { level: 1, name: 'The long day' }))
  const id = /editions\/(\w+)$/.exec(anna.url())![1]!
  t.match((await editions.read(id)).edition, {
    field_key: [{ value: 'daily-2026-11-20' }],
    field_publisher_edition_type: [{ value: 'daily' }],
    status: [{ value: false }],
    field_articles: []
  })

  await openEdition(ben, id, 'The long day')
  await press(ben.getByRole('link', { name: 'Find the first one' }))
  await until(() => ben.evaluate('document.activeElement.id === "find"'))
  await ben.keyboard.type(articleOf(9))
  await ben.keyboard.press('Enter')
  await inOrder(ben, [9])
  await inOrder(anna, [9])
  await search(ben).fill('')
  await shows(found(ben).getByText('place 1'))
  await until(async () => (await found(ben).count()) === 20)

  const held = await client('carla').locks.acquire({ type: 'node', id: '41', fieldName: 'title' }, { payload: 'x' })
  await anna.getByRole('heading', { level: 1 }).focus()
  await anna.keyboard.press('/')
  await anna.keyboard.type(articleOf(41))
  await shows(found(anna).getByText(articleOf(41)))
  await until(async () => (await found(anna).count()) === 1)
  await shows(found(anna).getByText('Carla is in it'))
  await shows(found(anna).getByText(/^in /))
  await picture(anna, 2, 'fill')
  await drag(found(anna).first(), order(anna).first())
  await inOrder(anna, [41, 9])
  for (const page of [anna, ben]) {
    await shows(
      order(page)
        .filter({ hasText: articleOf(41) })
        .getByRole('img', { name: 'Carla' })
    )
  }
  await search(anna).fill(articleOf(4))
  await until(async () => (await found(anna).count()) === 1)
  await anna.getByRole('spinbutton', { name: 'At place' }).fill('2')
  await press(button(found(anna), `Add ${articleOf(4)}`))
  for (const page of [anna, ben]) await inOrder(page, [41, 4, 9])

  await button(anna, `Move ${articleOf(9)} up`).focus()
  await button(ben, `Move ${articleOf(4)} up`).focus()
  await Promise.all([anna.keyboard.press('Alt+Home'), ben.keyboard.press('Alt+End')])
  for (const page of [anna, ben]) await inOrder(page, [9, 41, 4])
  await until(async () => isDeepStrictEqual(await articlesOf(id), [9, 41, 4]))

  const noteOf = async () => (await locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)
  await press(fieldOf(anna, 'Title'))
  await fieldOf(anna, 'Title').fill('The long day, and the bridge')
  await shows(ben.getByText(/^Anna is editing this since/))
  await press(button(ben, 'Ask for it Title'))
  await shows(anna.getByText('Ben asks for this'))
  await picture(anna, 3, 'ask')
  await press(button(anna, 'In a minute Title, Ben'))
  await until(async () => (await noteOf())?.payload === 'The long day, and the bridge')
  await press(button(ben, 'Take over Title'))
  await shows(ben.getByText('You are editing this'))
  const kept = anna.getByRole('region', { name: 'Kept drafts' })
  await shows(kept.getByText('The long day, and the bridge'))
  await ben.keyboard.press('End')
  await ben.keyboard.type(' of the bridge')
  await shows(anna.getByText(/^Ben took over Title/))
  await picture(anna, 4, 'take-over')
  await press(button(kept, 'Discard the draft of Title'))
  await hides(kept.getByText('The long day, and the bridge'))

  const crashed = ben.waitForEvent('crash')
  ;(await ben.context().newCDPSession(ben)).send('Page.crash').catch(() => {})
  await crashed
  const again = await ben.context().newPage()
  await again.goto(`${url}/desk?as=ben`)
  await openEdition(again, id, 'The long day')
  await shows(again.getByText('The long day of the bridge').first())
  await picture(again, 5, 'crash')
  await press(button(again, /^Restore .*Title$/).first())
  await until(async () => (await fieldOf(again, 'Title').inputValue()) === 'The long day of the bridge')
  await press(button(again, 'Save changes'))
  for (const page of [anna, again]) await shows(page.getByRole('heading', { level: 1, name: 'The long day of the bridge' }))
  await until(async () => (await noteOf()) === undefined)

  await press(button(anna, 'Publish'))
  const panel = anna.getByRole('region', { name: 'Publish?' })
  await shows(panel.getByText(/^Carla is editing title of /))
  await picture(anna, 6, 'close')
  t.equal(await button(panel, 'Publish now').getAttribute('aria-disabled'), 'true')
  await press(button(panel, /^Go there \(Carla/))
  await until(() => anna.evaluate(`document.activeElement.textContent === ${JSON.stringify(articleOf(41))}`))
  await held.release()
  await press(button(panel, 'Check again'))
  await shows(panel.getByText('Nothing stands in the way.'))
  await fieldOf(anna, 'Key').fill('the-long-day')
  await shows(panel.getByText('Not saved yet'))
  await press(button(panel, 'Save first'))
  await hides(panel.getByText('Not saved yet'))
  await until(async () => (await button(panel, 'Publish now').getAttribute('aria-disabled')) === 'false')
  await press(button(panel, 'Publish now'))
  await hides(panel)
  await until(async () => (await anna.getByRole('status').textContent()) === 'Published.')
  t.match((await editions.read(id)).edition, { status: [{ value: true }], field_key: [{ value: 'the-long-day' }] })
  for (const page of [anna, again]) await shows(page.getByText('Published', { exact: true }))

  await press(button(again, 'Unpublish'))
  await press(button(again, 'Unpublish now'))
  await until(async () => (await again.getByRole('status').textContent()) === 'Not published any more.')
  await shows(anna.getByText('Not published', { exact: true }))
  t.match((await editions.read(id)).edition, { status: [{ value: false }] })
  t.strictSame((await locks.list({ type: 'publisher_container', id })).length, 0)
})

t.test('four editors who save four fields at once all succeed', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const id = await edition('The four')
  const fields = ['Title', 'Key', 'Price', 'Link']
  const pages = await Promise.all(fields.map((_, index) => seat(t, `editor${index}`)))
  for (const [index, page] of pages.entries()) {
    await openEdition(page, id, 'The four')
    await fieldOf(page, fields[index]!).fill(['Typed by 0', 'typed-by-1', '3.5', 'https://paper.example/3'][index]!)
  }
  await Promise.all(pages.map((page) => press(button(page, 'Save changes'))))
  for (const page of pages) await shows(page.getByText('Saved.'))
  t.match((await client('looker').editions.read(id)).edition, {
    title: [{ value: 'Typed by 0' }],
    field_key: [{ value: 'typed-by-1' }],
    field_link: [{ uri: 'https://paper.example/3' }]
  })
})

t.test('a field that Drupal forbids is marked and closed, and the rest is saved without it', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const id = await edition('The forbidden')
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'The forbidden')
  await fieldOf(anna, 'Internal note').fill('Mine')
  await fieldOf(anna, 'Title').fill('The allowed')
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText('Drupal does not let you change this.'))
  t.equal(await fieldOf(anna, 'Internal note').isEditable(), false)
  await press(button(anna, 'Save changes'))
  await shows(anna.getByRole('heading', { level: 1, name: 'The allowed' }))
  t.match((await client('looker').editions.read(id)).edition, { title: [{ value: 'The allowed' }] })
  await press(button(anna, 'Revert Internal note'))
  await until(async () => (await fieldOf(anna, 'Internal note').inputValue()) === '')
  await openEdition(anna, await edition('The next'), 'The next')
  await shows(anna.getByText('Drupal did not let you change this before.'))
})

t.test('yesterday’s edition is duplicated, with its articles', async (t) => {
  const { seat, client } = await newsroom(t)
  const { editions } = client('looker')
  const anna = await seat(t, 'anna')
  await press(anna.getByRole('link', { name: 'Duplicate yesterday’s' }))
  await shows(anna.getByRole('switch', { name: /^Duplicate Thursday, 19 November 2026, with its \d+ articles/ }))
  await press(button(anna, 'Make it'))
  await shows(anna.getByRole('heading', { level: 1, name: 'Friday, 20 November 2026' }))
  const [before] = (await editions.search({ key: 'daily-2026-11-19' }).next()).value!.editions
  const id = /editions\/(\w+)$/.exec(anna.url())![1]!
  const { edition } = await editions.read(id)
  const of = (name: string, from = edition) => from[name]!.map((item) => item['target_id'] ?? item['value'])
  // The editor may see, and so refer to, five of the six.
  t.strictSame(
    of('field_articles'),
    of('field_articles', before).filter((article) => article !== 120)
  )
  const lack = anna.getByRole('main').getByText('This copy lacks 1 value that could not be copied: No. 120, deleted or not for you to see')
  await shows(lack)
  await press(button(anna, 'Close'))
  await hides(lack)
  t.match(edition, {
    status: [{ value: false }],
    field_key: [{ value: 'daily-2026-11-20' }],
    field_publication_date: [{ value: '2026-11-20' }]
  })
  await press(anna.getByRole('link', { name: 'Duplicate' }))
  await until(async () => (await anna.getByRole('textbox', { name: /^Key/ }).inputValue()) === 'daily-2026-11-21')
})

t.test('what is new is everybody’s', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const id = await edition('Everybody’s', [4, 41])
  await client('looker').editions.update(id, { status: [{ value: false }] })
  const anna = await seat(t, 'anna')
  await accessibleAnywhere(t, anna, 'the list')
  await press(anna.getByRole('link', { name: 'New edition' }))
  await shows(button(anna, 'Make it'))
  await accessibleAnywhere(t, anna, 'a new edition')
  await openEdition(anna, id, 'Everybody’s')
  await search(anna).focus()
  await shows(found(anna).getByText('place 1').or(found(anna).first()))
  await press(button(anna, 'Publish'))
  await shows(anna.getByRole('region', { name: 'Publish?' }).getByText('Nothing stands in the way.'))
  await accessibleAnywhere(t, anna, 'an edition with its search and what is in the way')
  await anna.keyboard.press('Escape')
  await hides(anna.getByRole('region', { name: 'Publish?' }))
  await until(() => anna.evaluate('document.activeElement.textContent === "Publish"'))
})
