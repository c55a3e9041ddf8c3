import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Page } from 'playwright-core'
import { articleOf, button, drag, newsroom, openEdition, press, shows, until } from './harness.ts'

const named = (...ids: number[]) => ids.map(articleOf)
const mover = (page: Page, id: number, to: 'up' | 'down') => button(page, `Move ${articleOf(id)} ${to}`)

t.test('the running order', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const { editions, locks } = client('looker')
  const saved = async (id: string) => (await editions.read(id)).edition['field_articles']!.map((item) => item['target_id'])
  const shown = (page: Page) => page.getByRole('region', { name: /^Running order/ }).getByRole('listitem').locator('.title').allTextContents()
  const inOrder = (page: Page, ...ids: number[]) => until(async () => isDeepStrictEqual(await shown(page), named(...ids)))
  const order = { type: 'publisher_container', fieldName: 'field_articles' }

  t.test('articles are moved with buttons and by dragging, and saved', async (t) => {
    const id = await edition('Order one', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order one')
    // What articles are called comes after the rest.
    await shows(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 2, 9)
    await press(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 9, 2)
    await until(async () => (await locks.list({ ...order, id })).at(0)?.userData.uid === 'anna')
    const rows = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
    await drag(rows.nth(0), rows.nth(2))
    await inOrder(anna, 9, 2, 4)
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.strictSame(await saved(id), [9, 2, 4])
  })

  t.test("a colleague's order, saved meanwhile, is never overwritten silently", async (t) => {
    const id = await edition('Order two', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order two')
    await press(mover(anna, 9, 'up'))
    await editions.update(id, { field_articles: [2, 4, 9].map((id) => ({ target_id: id })) })
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText(/^Not saved: a colleague has saved/))
    t.strictSame(await saved(id), [2, 4, 9])
    const both = anna.getByRole('group', { name: 'Two running orders' })
    t.strictSame(await both.getByRole('listitem').allTextContents(), named(4, 9, 2, 2, 4, 9))
    await press(button(both, 'Keep my order'))
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.strictSame(await saved(id), [4, 9, 2])
  })

  t.test('an article that a colleague has added meanwhile is taken in, wherever the others were moved', async (t) => {
    const id = await edition('Order three', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order three')
    await press(mover(anna, 9, 'up'))
    await editions.update(id, { field_articles: [4, 2, 9, 11].map((id) => ({ target_id: id })) })
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    const now = await saved(id)
    t.strictSame(now.filter((article) => article !== 11), [4, 9, 2])
    t.ok(now.includes(11))
  })

  t.test('while one orders, the other cannot', async (t) => {
    const id = await edition('Order four', [4, 2])
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'Order four')
    await press(mover(anna, 2, 'up'))
    await shows(ben.getByRole('region', { name: /^Running order/ }).getByText(/^Anna is editing this/))
    t.equal(await mover(ben, 2, 'up').getAttribute('aria-disabled'), 'true')
    await press(mover(ben, 2, 'up'), { force: true })
    await inOrder(ben, 4, 2)

    await press(button(ben, 'Take over Running order'))
    await shows(ben.getByText('You are editing this'))
    await until(() => ben.evaluate(`document.activeElement.ariaLabel === 'Move ${articleOf(4)} down'`))
    await ben.getByRole('heading', { level: 1 }).focus()
    await until(async () => (await locks.list({ ...order, id })).length === 0)
  })
})
