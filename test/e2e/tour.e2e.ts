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
  await until(async () => await fieldOf(anna, 'Title').inputValue() === "Ben's headline")

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
  await shows(ben.getByRole('region', { name: /^Running order/ }).getByText(/^Anna is editing this/))
  await press(button(ben, 'Take over Running order'))
  await shows(again.getByText(/^Ben took over Running order/))
  await press(button(ben, `Move ${articleOf(2)} up`))
  await press(button(ben, 'Save changes'))
  await shows(ben.getByText('Saved.'))
  t.match((await editions.read(id)).edition, { title: [{ value: "Ben's headline" }], field_articles: [{ target_id: 2 }, { target_id: 4 }, { target_id: 9 }] })
  await shows(again.getByRole('region', { name: 'Kept drafts' }).getByText('An order of the articles'))
})
