import t from 'tap'
import type { JournalEntry } from '../../packages/client/src/client.ts'
import { accessible, accessibleAnywhere } from './axe.ts'
import { articleOf, button, fieldOf, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('the history of an edition', async (t) => {
  const { seat, edition, client } = await newsroom(t)

  t.test('shows who saved what, and puts it back', async (t) => {
    const id = await edition('The bridge opens on Monday at noon', [4, 2, 9])
    await client('ben').editions.update(id, { title: [{ value: 'The bridge opens on Friday at noon' }] })
    await client('ben').editions.arrange(id, [{ op: 'remove', article: { target_id: 2 } }])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The bridge opens on Friday at noon')
    await press(button(anna, 'History'))
    const history = anna.getByRole('region', { name: 'History' })
    const entry = (words: string | RegExp) => history.locator('.entries > li').filter({ hasText: words }).first()
    await shows(entry('Running order changed').getByText('out:'))
    await shows(entry('Running order changed').getByText(articleOf(2)))
    const saved = entry(/User ben\s*Saved/)
    await shows(saved.locator('ins', { hasText: 'Friday' }))
    await shows(saved.locator('del', { hasText: 'Monday' }))
    const made = entry(/User maker\s*Made/)
    await press(button(made, /fields/))
    await shows(made.locator('ins', { hasText: 'Monday' }))
    await accessible(t, anna, 'the history')
    await history.getByRole('combobox', { name: 'Done by' }).selectOption('User ben')
    await until(async () => (await history.locator('.entries > li').count()) === 2)
    await history.getByRole('combobox', { name: 'Done by' }).selectOption('everybody')
    await until(async () => (await history.locator('.entries > li').count()) === 3)

    await press(button(saved, /^Put back what stood before/))
    await shows(saved.getByText('What is saved now is replaced'))
    await anna.keyboard.press('Escape')
    await until(async () => (await saved.getByRole('group').count()) === 0)
    t.match(await anna.evaluate('document.activeElement.textContent'), /Put back what stood before/, 'the focus goes back')
    await anna.keyboard.press('Enter')
    await shows(saved.getByRole('group', { name: 'Put back Title?' }))
    await until(async () => (await anna.evaluate('document.activeElement.textContent')) === 'Put it back')
    await accessibleAnywhere(t, anna, 'the question')
    await anna.keyboard.press('Enter')
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The bridge opens on Monday at noon')
    t.equal(
      await client('ben')
        .editions.read(id)
        .then(({ edition }) => edition['title']![0]!['value']),
      'The bridge opens on Monday at noon'
    )
    await until(
      async () =>
        await anna
          .locator('#said')
          .textContent()
          .then((said) => /put back|shown/.test(said!))
    )
    await shows(entry(/You\s*Put back/))

    const order = entry('Running order changed')
    await press(button(order, /^Put back what stood before/))
    await shows(order.getByText('The whole order is replaced'))
    await press(button(order, 'Put it back'))
    await shows(anna.locator('.order').getByText(articleOf(2)))
    t.strictSame(
      (await client('ben').editions.read(id)).edition['field_articles']!.map(({ target_id: article }) => article),
      [4, 2, 9]
    )

    await accessibleAnywhere(t, anna, 'the history')
    await button(history, 'Close the history').focus()
    await anna.keyboard.press('Escape')
    await until(async () => (await history.count()) === 0)
    t.equal(await anna.evaluate('document.activeElement.id'), 'to-journal')
  })

  t.test('goes back by pages, and says what is uncertain and what came from outside', async (t) => {
    const id = await edition('Pages')
    for (let nth = 1; nth <= 21; nth++) await client('ben').editions.update(id, { title: [{ value: `Pages ${nth}` }] })
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Pages 21')
    await button(anna, 'History').focus()
    await anna.keyboard.press('Enter')
    const entries = anna.locator('.entries > li')
    await until(async () => (await entries.count()) === 20)
    await button(anna, 'Older').focus()
    await anna.keyboard.press('Enter')
    await until(async () => (await entries.count()) === 22)
    await until(
      async () =>
        (await anna.evaluate('document.activeElement.closest(".entries > li")?.previousElementSibling?.parentElement.children.length')) ===
        22
    )
    t.equal(await button(anna, 'Older').count(), 0)

    const by = { uid: null, name: null }
    const data: JournalEntry[] = [
      {
        id: 'c'.repeat(16),
        at: new Date().toISOString(),
        by: { uid: 'carla', name: 'Carla' },
        kind: 'update',
        fields: { title: { before: [{ value: 'A' }], after: [{ value: 'B' }] } },
        outcome: 'uncertain',
        etag: null
      },
      {
        id: `${'c'.repeat(16)}.before`,
        at: '2026-11-19T11:15:30.000Z',
        by,
        kind: 'outside',
        fields: {},
        outcome: 'saved',
        etag: null,
        between: ['2026-11-19T10:15:30.000Z', '2026-11-19T11:15:30.000Z']
      },
      {
        id: 'b'.repeat(16),
        at: '2026-11-19T10:15:30.000Z',
        by: { uid: 'carla', name: 'Carla' },
        kind: 'takeover',
        from: { uid: 'ben', name: 'Ben' },
        fields: { title: {} },
        outcome: 'saved',
        etag: null
      }
    ]
    await anna.route('**/journal?*', (route) => route.fulfill({ json: { data, meta: { next: null } } }))
    await press(button(anna, 'Close the history'))
    await press(button(anna, 'History'))
    await shows(anna.getByText('Nobody can tell yet whether this was saved.'))
    await shows(anna.getByText(/^Between 19 Nov, 11:15 and 19 Nov, 12:15 the edition was changed in Drupal or by another program/))
    await shows(anna.getByText('Title taken over from Ben'))
    await accessibleAnywhere(t, anna, 'entries of other kinds')
  })
})

t.test('where no journal is kept, the history says so', async (t) => {
  const { seat, edition } = await newsroom(t, { JOURNAL_DAYS: '0' })
  const id = await edition('Nothing is kept')
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'Nothing is kept')
  await press(button(anna, 'History'))
  await shows(anna.getByText('This service keeps no history.'))
})
