import t from 'tap'
import { articleOf, button, fieldOf, hides, newsroom, openEdition, rows, shows, until } from './harness.ts'

t.test("the README's two minutes at the desk go as they are told", async (t) => {
  const { url, seat, edition, client } = await newsroom(t)
  const id = await edition('The tour', [4, 2, 9])
  const { locks, editions } = client('looker')
  const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
  for (const page of [anna, ben]) {
    await rows(page).first().getByRole('link', { name: 'The tour' }).click()
    await page.getByText('live', { exact: true }).waitFor()
  }

  // 2
  await fieldOf(anna, 'Title').click()
  await fieldOf(anna, 'Title').fill("Anna's headline")
  await shows(ben.getByText(/^Anna is editing this since/))
  t.equal(await fieldOf(ben, 'Title').isEditable(), false)

  // 3
  await button(ben, 'Take over Title').click()
  await shows(ben.getByText('You are editing this'))
  await fieldOf(ben, 'Title').fill("Ben's headline")
  await button(ben, 'Save changes').click()
  await shows(anna.getByText(/^Ben took over Title/))
  await shows(anna.getByRole('region', { name: 'Kept drafts' }).getByText("Anna's headline"))
  await until(async () => await fieldOf(anna, 'Title').inputValue() === "Ben's headline")

  // 4
  await hides(anna.getByText('is editing this'))
  await button(anna, 'Restore the draft of Title').click()
  await until(async () => (await locks.list({ type: 'publisher_container', id, fieldName: 'title' })).at(0)?.payload === "Anna's headline")
  const again = await anna.context().newPage()
  await anna.close({ runBeforeUnload: true })
  await again.goto(`${url}/desk?as=anna`)
  await openEdition(again, id, "Ben's headline")
  await shows(again.getByText("You had typed “Anna's headline”"))

  // 5
  await button(again, `Move ${articleOf(9)} up`).click()
  await shows(ben.getByRole('region', { name: /^Running order/ }).getByText(/^Anna is editing this/))
  await button(ben, 'Take over Running order').click()
  await shows(again.getByText(/^Ben took over Running order/))
  await button(ben, `Move ${articleOf(2)} up`).click()
  await button(ben, 'Save changes').click()
  await shows(ben.getByText('Saved.'))
  t.match((await editions.read(id)).edition, { title: [{ value: "Ben's headline" }], field_articles: [{ target_id: 2 }, { target_id: 4 }, { target_id: 9 }] })
  await shows(again.getByRole('region', { name: 'Kept drafts' }).getByText('An order of the articles'))
})
