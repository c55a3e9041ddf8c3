import t from 'tap'
import { articleOf, button, drag, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('three tasks take the keys and presses that docs/desk.md counts', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const id = await edition('The tasks', [4, 2])
  const { editions } = client('looker')
  await editions.update(id, { status: [{ value: false }] })
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'The tasks')
  await shows(button(anna, `Move ${articleOf(2)} up`))
  const rows = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
  const inOrder = (...ids: number[]) =>
    until(async () => (await rows.locator('.title').allTextContents()).join() === ids.map(articleOf).join())
  const keys = async (...keys: string[]) => {
    for (const key of keys) await anna.keyboard.press(key)
  }
  const found = anna.getByRole('list', { name: 'Articles found' }).getByRole('listitem')

  await anna.getByRole('heading', { level: 1 }).focus()
  await keys('/')
  await anna.keyboard.type(articleOf(9))
  await keys('Tab', '2', 'Enter')
  await inOrder(4, 9, 2)
  await anna.getByRole('heading', { level: 1 }).focus()
  await keys('Control+z')
  await inOrder(4, 2)

  await press(anna.getByRole('searchbox', { name: 'Search articles' }))
  await anna.keyboard.press('Control+a')
  await anna.keyboard.type(articleOf(11))
  await until(async () => (await found.count()) === 1 && (await found.first().textContent())!.includes(articleOf(11)))
  await drag(found.first(), rows.nth(1))
  await inOrder(4, 11, 2)
  await press(button(anna, 'Undo'))
  await inOrder(4, 2)

  const isPublished = async () => (await editions.read(id)).edition['status']![0]!['value']
  /** The answer comes a moment after the save: Quoin looks again whether somebody came in between. */
  const settled = () => until(async () => (await anna.getByRole('button', { name: /ublish now$/ }).count()) === 0)
  await button(anna, 'Publish').focus()
  await keys('Enter')
  await shows(anna.getByText('Nothing stands in the way.'))
  await keys('Tab', 'Enter')
  await until(isPublished)
  await settled()
  await press(button(anna, 'Unpublish'))
  await press(button(anna, 'Unpublish now'))
  await until(async () => !(await isPublished()))
  await settled()
  await press(button(anna, 'Publish'))
  await shows(anna.getByText('Nothing stands in the way.'))
  await press(button(anna, 'Publish now'))
  await until(isPublished)
})
