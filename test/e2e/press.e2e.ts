import t from 'tap'
import type { Page } from 'playwright-core'
import { articleOf, button, drag, fieldOf, newsroom, openEdition, press, shows, until } from './harness.ts'

/** How long hands hold a button down, in milliseconds: a quick one, and a slow one. */
const HANDS = [30, 250]

t.test('what is pressed is hit, whatever comes to be seen meanwhile', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const ben = client('ben').locks
  const title = { type: 'publisher_container', fieldName: 'title' }
  const rows = (page: Page) => page.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
  const inOrder = (page: Page, ids: number[]) => until(async () => (await rows(page).locator('.title').allTextContents()).join() === ids.map(articleOf).join())

  for (const delay of HANDS) {
    t.test(`by a hand that presses for ${delay} ms`, async (t) => {
      const id = await edition(`Pressed ${delay}`, [4, 2, 9, 11])
      const anna = await seat(t, 'anna')
      await openEdition(anna, id, `Pressed ${delay}`)
      await shows(button(anna, `Move ${articleOf(11)} up`))

      await press(button(anna, `Move ${articleOf(9)} down`), { delay })
      await inOrder(anna, [4, 2, 11, 9])
      await drag(rows(anna).nth(0), rows(anna).nth(2), delay)
      await inOrder(anna, [2, 11, 4, 9])
      const featured = anna.getByRole('switch', { name: /^Featured/ })
      const before = await featured.isChecked()
      await press(featured, { delay })
      await until(async () => await featured.isChecked() !== before)
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
        field_featured: [{ value: !before }], field_articles: [2, 11, 4, 9].map((id) => ({ target_id: id }))
      })
    })
  }
})

/** Presses, and lets something be done by others before the release. */
async function during<T> (page: Page, act: () => Promise<T>): Promise<T> {
  await page.getByRole('heading', { level: 1 }).hover()
  await page.mouse.down()
  const result = await act()
  await page.waitForTimeout(1000)
  await page.mouse.up()
  return result
}
