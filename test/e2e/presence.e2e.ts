import t from 'tap'
import { accessible } from './axe.ts'
import { button, fieldOf, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('editors see who else has an edition open', async (t) => {
  const { seat, edition } = await newsroom(t)
  const id = await edition('Harbour')
  const [anna, ben, cora] = [await seat(t, 'anna'), await seat(t, 'ben'), await seat(t, 'cora')]
  const board = anna.getByRole('region', { name: 'Lock board' })
  const lookers = board.locator('.lookers')
  const shown = async () => await lookers.textContent()
  /** Whether the page shows it for a while. */
  const stays = async (text: string) => {
    for (let count = 0; count < 10; count++) {
      if ((await shown()) !== text) return false
      await anna.waitForTimeout(100)
    }
    return true
  }
  await openEdition(anna, id, 'Harbour')
  t.ok(await stays(''), 'one does not look on oneself')
  const heights = async () => (await board.boundingBox())?.height
  const alone = await heights()
  const said = await anna.locator('#said').textContent()

  await openEdition(cora, id, 'Harbour')
  await until(async () => (await shown()) === 'Looking on: Cora')
  t.equal(await heights(), alone, 'the line has its room before somebody comes')
  await openEdition(ben, id, 'Harbour')
  await until(async () => (await shown()) === 'Looking on: Ben, Cora')
  await shows(ben.getByText('Looking on: Anna, Cora'))
  await accessible(t, anna, 'an edition at which others look on')
  t.equal(await anna.locator('#said').textContent(), said, 'nothing is said aloud')

  t.test('a window that crashes is not gone yet', async (t) => {
    const crashed = new Promise((resolve) => cora.once('crash', resolve))
    cora.goto('chrome://crash').catch(() => {})
    await crashed
    t.match(await shown(), 'Looking on: Ben, Cora')
  })

  t.test('who begins to type is at work, and looks on again afterwards', async () => {
    await fieldOf(ben, 'Title').focus()
    await shows(board.getByText(/^since \d\d:\d\d$/))
    await until(async () => (await shown()) === 'Looking on: Cora')
    await fieldOf(ben, 'Title').fill('Harbour bridge')
    await shows(board.getByText(/^since \d\d:\d\d, last typed \d\d:\d\d$/))
    await shows(anna.getByText(/^Ben is editing this since \d\d:\d\d, last typed \d\d:\d\d$/))
    await press(button(ben, 'Revert Title'))
    await fieldOf(ben, 'Title').blur()
    await until(async () => (await shown()) === 'Looking on: Ben, Cora')
  })

  t.test('two windows of an editor are one, and one of them that is closed hides nobody', async (t) => {
    const other = await ben.context().newPage()
    await other.goto(ben.url())
    await shows(other.getByText('Looking on: Anna, Cora'))
    t.match(await shown(), 'Looking on: Ben, Cora')
    await other.close({ runBeforeUnload: true })
    await ben.bringToFront()
    await anna.waitForTimeout(500)
    await until(async () => (await shown()) === 'Looking on: Ben, Cora')
  })

  t.test('a page that goes elsewhere, or is closed, is gone at once', async () => {
    await press(ben.getByRole('link', { name: 'All editions' }))
    await until(async () => (await shown()) === 'Looking on: Cora')
    await openEdition(ben, id, 'Harbour')
    await until(async () => (await shown()) === 'Looking on: Ben, Cora')
    await ben.close({ runBeforeUnload: true })
    await until(async () => (await shown()) === 'Looking on: Cora')
  })

  t.test('a window that has crashed is gone 90 seconds after its last word', async (t) => {
    await lookers.getByText('Cora').waitFor({ state: 'hidden', timeout: 120_000 })
    t.equal(await shown(), '')
  })
})
