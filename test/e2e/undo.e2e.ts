import t from 'tap'
import type { Page } from 'playwright-core'
import { accessibleAnywhere } from './axe.ts'
import { articleOf, button, fieldOf, hides, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('there is a way back from every slip', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const rows = (page: Page) => page.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
  const inOrder = (page: Page, ...ids: number[]) =>
    until(async () => (await rows(page).locator('.title').allTextContents()).join() === ids.map(articleOf).join())
  const lockOf = async (id: string, fieldName: string) =>
    (await client('looker').locks.list({ type: 'publisher_container', id, fieldName })).at(0)

  t.test('a field is reverted, and that is undone', async (t) => {
    const id = await edition('The slip')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The slip')
    await fieldOf(anna, 'Title').fill('The slip, and a stray letter')
    await until(async () => (await lockOf(id, 'title'))?.payload === 'The slip, and a stray letter')
    await press(button(anna, 'Revert Title'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The slip')
    await shows(anna.getByText('Everything is saved'))
    await until(async () => (await lockOf(id, 'title'))?.payload === undefined)
    await press(button(anna, 'Undo'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The slip, and a stray letter')
    await press(button(anna, 'Redo'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The slip')

    await fieldOf(anna, 'Title').fill('Another')
    await anna.keyboard.press('Escape')
    const kept = anna.getByRole('region', { name: 'Kept drafts' })
    t.equal(await fieldOf(anna, 'Title').inputValue(), 'Another', 'Esc takes no text away')
    await press(button(anna, 'Revert Title'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The slip')
    await shows(kept.getByText('Another', { exact: true }))
    await fieldOf(anna, 'Title').focus()
    for (const [keys, text] of [
      ['Control+z', 'Another'],
      ['Control+Shift+z', 'The slip']
    ] as const) {
      await anna.keyboard.press(keys)
      await until(async () => (await fieldOf(anna, 'Title').inputValue()) === text)
    }
    await anna.keyboard.type('x')
    const typed = await fieldOf(anna, 'Title').inputValue()
    await anna.keyboard.press('Control+z')
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The slip')
    t.match(typed, /x/, 'and a letter typed since is the text box’s own to undo')
    const count = anna.getByLabel(/^Page count/)
    await count.focus()
    await anna.keyboard.type('e')
    await shows(anna.getByText('This is not complete: finish it, or empty it.'))
    await fieldOf(anna, 'Key').fill('other')
    await press(button(anna, 'Discard all'))
    await shows(anna.getByText('Everything is saved'))
    await hides(anna.getByText('This is not complete: finish it, or empty it.'))
    await until(async () => (await fieldOf(anna, 'Key').inputValue()) === 'the-slip')
    // A page that opens while the lock still has the text offers it at its field.
    await until(async () => (await lockOf(id, 'field_key'))?.payload !== 'other')
    await anna.reload()
    await shows(kept.getByText('other', { exact: true }))
    await shows(kept.getByText('Another', { exact: true }))
  })

  t.test('moves are made, undone and saved with keys', async (t) => {
    const id = await edition('The keys', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The keys')
    await shows(button(anna, `Move ${articleOf(9)} up`))
    await button(anna, `Move ${articleOf(9)} up`).focus()
    await anna.keyboard.press('Alt+ArrowUp')
    await inOrder(anna, 4, 9, 2)
    await anna.keyboard.press('Alt+Home')
    await inOrder(anna, 9, 4, 2)
    await until(() => anna.evaluate(`document.activeElement.ariaLabel === 'Move ${articleOf(9)} down'`))
    for (const order of [
      [4, 9, 2],
      [4, 2, 9]
    ]) {
      await anna.keyboard.press('Control+z')
      await inOrder(anna, ...order)
    }
    await anna.keyboard.press('Control+Shift+z')
    await inOrder(anna, 4, 9, 2)
    const saved = async () => (await client('looker').editions.read(id)).edition['field_articles']!.map((item) => item['target_id']).join()
    await until(async () => (await saved()) === '4,9,2')
    await fieldOf(anna, 'Title').fill('The keys, pressed')
    await anna.keyboard.press('Control+s')
    await shows(anna.getByText('Saved.'))
    t.equal(await saved(), '4,9,2')
    await button(anna, `Move ${articleOf(9)} up`).focus()
    await anna.keyboard.press('Delete')
    await inOrder(anna, 4, 2)
    await anna.keyboard.press('Control+z')
    await inOrder(anna, 4, 9, 2)
    await until(async () => (await saved()) === '4,9,2')
  })

  t.test('the keys are told', async (t) => {
    const anna = await seat(t, 'anna')
    await anna.getByRole('heading', { level: 1 }).focus()
    await anna.keyboard.press('?')
    await shows(anna.getByRole('dialog', { name: 'Keys' }).getByText('Ctrl+S'))
    await accessibleAnywhere(t, anna, 'the list of keys')
    await anna.keyboard.press('Escape')
    await hides(anna.getByRole('dialog', { name: 'Keys' }))
    await press(button(anna, 'Keys'))
    await shows(anna.getByRole('dialog', { name: 'Keys' }))
    await press(button(anna, 'Close'))
    await hides(anna.getByRole('dialog', { name: 'Keys' }))
  })
})
