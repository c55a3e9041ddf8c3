import t from 'tap'
import { accessibleAnywhere } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('drafts and offers are compared with the present text', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const title = (id: string) => ({ type: 'publisher_container', id, fieldName: 'title' })

  t.test('a draft is merged by pieces, and is gone once it is saved', async (t) => {
    const id = await edition('The bridge opens on Monday at noon')
    await client('anna').locks.acquire(title(id), { payload: 'The harbour bridge opens on Friday at noon' })
    await (await client('ben').locks.overwrite(title(id))).release()
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The bridge opens on Monday at noon')
    const kept = anna.getByRole('region', { name: 'Kept drafts' })
    const friday = kept.getByRole('button', { name: /Friday/ })
    await shows(friday)
    await press(friday)
    await until(async () => (await friday.getAttribute('aria-pressed')) === 'false')
    await friday.focus()
    for (const pressed of ['true', 'false']) {
      await anna.keyboard.press('Space')
      await until(async () => (await friday.getAttribute('aria-pressed')) === pressed)
    }
    await accessibleAnywhere(t, anna, 'a draft with its difference')
    await press(button(kept, 'Restore the draft of Title'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The harbour bridge opens on Monday at noon')
    await shows(kept.getByText('The harbour bridge opens on Friday at noon'))
    await press(button(anna, 'Undo'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The bridge opens on Monday at noon')
    await press(button(kept, 'Restore the draft of Title'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The harbour bridge opens on Monday at noon')
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    await hides(kept.getByText('The harbour bridge opens on Friday at noon'))
    await until(async () => (await client('anna').locks.drafts(title(id))).length === 0)
  })

  t.test('what a colleague has saved meanwhile is compared with one’s own text, and taken by pieces', async (t) => {
    const id = await edition('The ferry leaves on Monday at noon')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The ferry leaves on Monday at noon')
    await fieldOf(anna, 'Title').fill('The ferry leaves on Friday at noon')
    await client('ben').editions.update(id, { title: [{ value: 'The harbour ferry leaves on Tuesday at noon' }] })
    const friday = button(anna, /Friday.*Tuesday/s)
    await shows(friday)
    await accessibleAnywhere(t, anna, 'a conflict with its difference')
    await press(friday)
    await press(button(anna, 'Take what is chosen of Title'))
    await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'The harbour ferry leaves on Friday at noon')
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.equal((await client('ben').editions.read(id)).edition.title?.[0]?.['value'], 'The harbour ferry leaves on Friday at noon')
  })

  t.test('an offer that is typed again ends', async (t) => {
    const id = await edition('The second offer')
    await client('anna').locks.acquire(title(id), { payload: 'The second offer, typed' })
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The second offer')
    await shows(anna.getByText('You had typed “The second offer, typed”'))
    await fieldOf(anna, 'Title').fill('The second offer, typed')
    await hides(anna.getByText(/^You had typed/))
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.equal(await anna.getByRole('region', { name: 'Kept drafts' }).getByRole('listitem').count(), 0)
  })
})
