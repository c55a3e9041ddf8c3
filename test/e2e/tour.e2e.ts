import t from 'tap'
import { articleOf, button, fieldOf, hides, newsroom, openEdition, press, rows, shows, until } from './harness.ts'

t.test("the README's two minutes at the desk go as they are told", async (t) => {
  const { url, seat, edition, client } = await newsroom(t)
  const id = await edition('The tour', [4, 2, 9])
  const { locks, editions } = client('looker')
  const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
  for (const page of [anna, ben]) {
    await press(rows(page).first().getByRole('link', { name: 'The tour' }))
    await page.getByText('live', { exact: true }).waitFor()
  }

  // 2
  await press(fieldOf(anna, 'Title'))
  await fieldOf(anna, 'Title').fill("Anna's headline")
  await shows(ben.getByText(/^Anna is editing this since/))
  t.equal(await fieldOf(ben, 'Title').isEditable(), false)

  // 3
  await press(button(ben, 'Take over Title'))
  await shows(ben.getByText('You are editing this'))
  await fieldOf(ben, 'Title').fill("Ben's headline")
  await press(button(ben, 'Save changes'))
  await shows(anna.getByText(/^Ben took over Title/))
  await shows(anna.getByRole('region', { name: 'Kept drafts' }).getByText("Anna's headline"))
  await until(async () => (await fieldOf(anna, 'Title').inputValue()) === "Ben's headline")

  // 4
  await hides(anna.getByText('is editing this'))
  await press(button(anna, 'Restore the draft of Title'))
  await until(async () => (await locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)?.payload === "Anna's headline")
  const again = await anna.context().newPage()
  await anna.close({ runBeforeUnload: true })
  await again.goto(`${url}/desk?as=anna`)
  await openEdition(again, id, "Ben's headline")
  await shows(again.getByText("You had typed “Anna's headline”"))

  // 5
  await press(button(again, `Move ${articleOf(9)} up`))
  const order = ben
    .getByRole('region', { name: /^Running order/ })
    .getByRole('listitem')
    .locator('.title')
  await until(async () => (await order.allTextContents()).join() === [4, 9, 2].map(articleOf).join())
  await press(button(ben, `Move ${articleOf(4)} down`))
  const saved = async () => (await editions.read(id)).edition['field_articles']!.map((item) => item['target_id']).join()
  await until(async () => (await saved()) === '9,4,2')
  await press(button(again, 'Undo'))
  await until(async () => (await saved()) === '4,2,9')
  t.equal((await editions.read(id)).edition['title']![0]!['value'], "Ben's headline")
})
