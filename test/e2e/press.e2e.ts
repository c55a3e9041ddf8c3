import t from 'tap'
import type { Locator, Page } from 'playwright-core'
import { articleOf, button, drag, fieldOf, newsroom, openEdition, press, shows, until } from './harness.ts'

/** How long hands hold a button down, in milliseconds: a quick one, and a slow one. */
const HANDS = [30, 250]

t.test('what is pressed is hit, whatever comes to be seen meanwhile', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const ben = client('ben').locks
  const title = { type: 'publisher_container', fieldName: 'title' }
  const rows = (page: Page) => page.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
  const inOrder = (page: Page, ids: number[]) =>
    until(async () => (await rows(page).locator('.title').allTextContents()).join() === ids.map(articleOf).join())

  for (const delay of HANDS) {
    t.test(`by a hand that presses for ${delay} ms`, async (t) => {
      const id = await edition(`Pressed ${delay}`, [4, 2, 9, 11])
      const anna = await seat(t, 'anna')
      await openEdition(anna, id, `Pressed ${delay}`)
      await shows(button(anna, `Move ${articleOf(11)} up`))

      await press(button(anna, `Move ${articleOf(9)} down`), { delay })
      await inOrder(anna, [4, 2, 11, 9])
      await drag(rows(anna).nth(0), rows(anna).nth(2), delay, 'lower')
      await inOrder(anna, [2, 11, 4, 9])
      const featured = anna.getByRole('switch', { name: /^Featured/ })
      const before = await featured.isChecked()
      await press(featured, { delay })
      await until(async () => (await featured.isChecked()) !== before)
      await press(fieldOf(anna, 'Key'), { delay })
      await until(async () => (await fieldOf(anna, 'Key').evaluate('document.activeElement.id')) === 'field-field_key')

      await fieldOf(anna, 'Title').fill('Pressed, and typed')
      await until(async () => (await ben.list({ ...title, id })).at(0)?.payload === 'Pressed, and typed')
      const lock = await during(anna, () => ben.overwrite({ ...title, id }))
      await shows(anna.getByText(/^Ben is editing this/))
      await shows(anna.getByRole('region', { name: 'Kept drafts' }).getByText('Pressed, and typed'))
      await lock.release()
      await press(button(anna, 'Save changes'), { delay })
      await shows(anna.getByText('Saved.'))
      t.match((await client('looker').editions.read(id)).edition, {
        field_featured: [{ value: !before }],
        field_articles: [2, 11, 4, 9].map((id) => ({ target_id: id }))
      })
    })
  }
})

/** Presses, and lets something be done by others before the release. */
async function during<T>(page: Page, act: () => Promise<T>): Promise<T> {
  await page.getByRole('heading', { level: 1 }).hover()
  await page.mouse.down()
  const result = await act()
  await page.waitForTimeout(1000)
  await page.mouse.up()
  return result
}

t.test('nothing moves under a press of any kind, whatever others do meanwhile', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const [ben, carla] = [client('ben'), client('carla')]
  const id = await edition('The storm', [4, 2, 9, 11])
  const own = { type: 'publisher_container', id }
  const anna = await seat(t, 'anna')
  let nth = 0

  /** Each of these makes something be seen, or go. */
  async function news(): Promise<void> {
    nth++
    await Promise.all([
      edition(`News ${nth}`),
      ben.editions.update(id, { field_page_count: [{ value: nth }], field_price: [{ value: String(nth) }] }),
      ben.editions.arrange(id, [{ op: 'move', article: { target_id: 11 }, at: nth % 2 === 0 ? 'start' : 'end' }]),
      ben.locks
        .overwrite({ ...own, fieldName: 'field_key' }, { payload: `ben-${nth}` })
        .then((lock) => (nth % 2 === 0 ? lock.release() : undefined)),
      carla.locks
        .overwrite({ type: 'node', id: '4', fieldName: 'title' }, { payload: 'x' })
        .then((lock) => (nth % 2 === 0 ? lock.release() : undefined)),
      ben.locks.ask({ ...own, fieldName: 'title' }).catch(() => {})
    ])
  }
  async function pressDuring(what: Locator): Promise<void> {
    await what.hover()
    await anna.mouse.down()
    await news()
    await anna.waitForTimeout(300)
    await anna.mouse.up()
  }

  await pressDuring(anna.getByRole('link', { name: 'The storm' }))
  await shows(anna.getByRole('heading', { level: 1, name: 'The storm' }))
  await shows(anna.getByText('live', { exact: true }))
  await shows(button(anna, `Move ${articleOf(11)} up`))
  await pressDuring(button(anna, `Move ${articleOf(2)} down`))
  await pressDuring(button(anna, new RegExp(`^\\d: move ${articleOf(2)} to`)))
  await pressDuring(fieldOf(anna, 'Title'))
  await anna.keyboard.type('Typed, ')
  await pressDuring(anna.getByRole('switch', { name: /^Featured/ }))
  await pressDuring(anna.getByLabel('Edition type', { exact: true }))
  await anna.keyboard.press('Escape')
  await pressDuring(button(anna, 'Save changes'))
  await pressDuring(button(anna, 'Undo'))
  await pressDuring(anna.getByRole('searchbox', { name: 'Search articles' }))
  await shows(anna.getByRole('list', { name: 'Articles found' }).getByRole('listitem').first())
  await pressDuring(button(anna, /^Add /).first())
  await pressDuring(button(anna, `Remove ${articleOf(9)}`))
  await pressDuring(button(anna, 'Take over Key'))
  await pressDuring(button(anna, /^Preview/))
  await pressDuring(button(anna, 'History'))
  await shows(anna.locator('.entries button').first())
  await pressDuring(anna.locator('.entries button').first())
  await pressDuring(anna.locator('.journal .close'))
  await pressDuring(button(anna, 'Unpublish'))
  await pressDuring(button(anna, 'Cancel'))
  await pressDuring(button(anna, 'Keys'))
  await pressDuring(button(anna, 'Close'))
  await pressDuring(anna.getByRole('link', { name: 'Duplicate' }))
  await shows(button(anna, 'Make it'))
  await pressDuring(anna.getByRole('switch', { name: /^Duplicate/ }))
  await pressDuring(anna.getByRole('link', { name: 'All editions' }))
  await shows(anna.getByRole('heading', { level: 1, name: 'Editions' }))
})
