import t from 'tap'
import { accessibleAnywhere } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('an editor asks the one who has a field for it', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const looker = client('looker')
  const holderOf = async (id: string) =>
    (await looker.locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)?.userData.uid

  t.test('the holder sees who asks, hands over, and finds his text kept; the other one takes the field', async (t) => {
    const id = await edition('Harbour')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'Harbour')
    await fieldOf(anna, 'Title').fill('Harbour bridge')
    await shows(ben.getByText(/^Anna is editing this since \d\d:\d\d, last typed \d\d:\d\d$/))
    await button(ben, 'Ask for it Title').press('Enter')
    await shows(ben.getByText(/^asked \d\d:\d\d$/))
    await shows(anna.getByText('Ben asks for this'))
    await until(async () => (await anna.locator('#said').textContent()) === 'Ben asks for Title.')
    await accessibleAnywhere(t, ben, 'a field that is asked for')
    await accessibleAnywhere(t, anna, 'a field that somebody asks for')
    await button(anna, 'Hand over Title, Ben').press('Enter')
    await shows(anna.getByText('Ben can have Title now. What you had typed is under Kept drafts.'))
    await hides(anna.getByText('Ben asks for this'))
    await hides(ben.getByText('Anna is editing this'))
    await until(async () => await fieldOf(ben, 'Title').isEditable())
    await fieldOf(ben, 'Title').focus()
    await shows(ben.getByText('You are editing this'))
    t.equal(await holderOf(id), 'ben')
    await shows(anna.getByText(/^Ben is editing this since/))
    await shows(anna.getByRole('region', { name: 'Kept drafts' }).getByText('Harbour bridge'))
  })

  t.test('two windows of one editor know of each other', async (t) => {
    const id = await edition('Two windows')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    await openEdition(anna, id, 'Two windows')
    await openEdition(ben, id, 'Two windows')
    const note = 'You have this edition open in another window, too.'
    const other = await anna.context().newPage()
    await other.goto(anna.url())
    for (const page of [anna, other]) await shows(page.getByText(note))
    t.equal(await ben.getByText(note).count(), 0)
    // As a browser does that keeps a page for the way back to it.
    await other.evaluate("dispatchEvent(new Event('pagehide'))")
    await hides(anna.getByText(note))
    await other.evaluate("dispatchEvent(new Event('pageshow'))")
    await shows(anna.getByText(note))
    await other.close({ runBeforeUnload: true })
    await hides(anna.getByText(note))
  })

  t.test('who has allowed it is told outside the tab of a request, and of a text that is taken over', async (t) => {
    const id = await edition('Ferry')
    const anna = await seat(t, 'anna')
    await anna.context().addInitScript(`
      class Notification {
        static permission = sessionStorage.getItem('allowed') ?? 'default'
        static async requestPermission () {
          sessionStorage.setItem('allowed', Notification.permission = 'granted')
        }
        constructor (title, { body }) { (window.told ??= []).push(title + ': ' + body) }
      }
      window.Notification = Notification
      document.hasFocus = () => window.isLooking ?? true`)
    await anna.reload()
    await openEdition(anna, id, 'Ferry')
    await press(button(anna, 'Notify me outside this tab'))
    await hides(button(anna, 'Notify me outside this tab'))
    await fieldOf(anna, 'Title').fill('Ferry, typed')
    await shows(anna.getByText('You are editing this'))
    await anna.evaluate('window.isLooking = false')
    await client('ben').locks.ask({ type: 'publisher_container', id, fieldName: 'title' })
    await shows(anna.getByText('Ben asks for this'))
    await client('ben').locks.overwrite({ type: 'publisher_container', id, fieldName: 'title' })
    await shows(anna.getByText(/^Ben took over Title\./))
    t.strictSame(await anna.evaluate('window.told'), [
      'Ferry: Ben asks for Title.',
      'Ferry: Ben took over Title. What you had typed is under Kept drafts.'
    ])
  })

  t.test('a request that is put off leaves the field; it ends when its page closes, and when it is withdrawn', async (t) => {
    const id = await edition('Lighthouse')
    const [anna, ben, cora] = [await seat(t, 'anna'), await seat(t, 'ben'), await seat(t, 'cora')]
    for (const page of [anna, ben, cora]) await openEdition(page, id, 'Lighthouse')
    await fieldOf(anna, 'Title').focus()
    await shows(anna.getByText('You are editing this'))
    for (const page of [ben, cora]) await press(button(page, 'Ask for it Title'))
    for (const name of ['Ben', 'Cora']) await shows(anna.getByText(`${name} asks for this`))
    await ben.close({ runBeforeUnload: true })
    await hides(anna.getByText('Ben asks for this'))
    await press(button(cora, 'Withdraw Title'))
    await hides(anna.getByText('Cora asks for this'))
    await press(button(cora, 'Ask for it Title'))
    await shows(anna.getByText('Cora asks for this'))
    await press(button(anna, 'In a minute Title, Cora'))
    await hides(anna.getByText('Cora asks for this'))
    t.equal(await holderOf(id), 'anna')
  })
})
