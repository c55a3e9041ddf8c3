import t from 'tap'
import { accessibleAnywhere } from './axe.ts'
import { articleOf, button, newsroom, openEdition, press, shows, until } from './harness.ts'

t.test('each thing that stands in the way of publishing is told by its name, and leads to its place', async (t) => {
  const { seat, client } = await newsroom(t)
  const { editions } = client('looker')
  // The editor may not see the last of its articles but one.
  const [sample] = (await editions.search({ key: 'daily-2026-11-18' }).next()).value!.editions
  const id = String(sample!['id']![0]!['value'])
  const [first] = sample!['field_articles']!.map((item) => Number(item['target_id']))
  await editions.update(id, { status: [{ value: false }] })
  const own = { type: 'publisher_container', id }
  const lock = async (name: string, fieldName: string, payload?: string, at: { type: string; id: string } = own) =>
    client(name).locks.acquire({ ...at, fieldName }, { ...(payload !== undefined && { payload }) })
  /** A text that somebody had typed, and somebody else has taken the place of. */
  async function draft(name: string, fieldName: string): Promise<void> {
    await lock(name, fieldName, `${name} typed this`)
    await (await client('cara').locks.overwrite({ ...own, fieldName })).release()
  }
  await lock('ben', 'field_price', '9')
  await lock('ben', 'field_featured', 'true')
  await lock('ben', 'field_rating')
  await lock('ben', 'field_section', '9')
  await lock('ben', 'field_hidden', '9')
  await lock('ben', 'field_articles')
  await lock('ben', 'title', 'x', { type: 'node', id: String(first) })
  await draft('anna', 'field_internal_note')
  await draft('anna', 'title')
  await draft('dora', 'field_key')

  const anna = await seat(t, 'anna')
  const hidden = 'No. 120, deleted or not for you to see'
  await openEdition(anna, id, String(sample!['title']![0]!['value']))
  await shows(anna.getByText(hidden))
  await press(button(anna, 'Publish'))
  const panel = anna.getByRole('region', { name: 'Publish?' })
  const places: Array<[words: string, place: string]> = [
    ['Ben is editing Price of the edition', 'field-field_price'],
    ['Ben is editing Featured of the edition', 'Take over Featured'],
    ['Ben is editing Section of the edition', 'fixed'],
    ['Ben is editing field_hidden of the edition', 'board'],
    ['Ben is editing Running order of the edition', 'Take over Running order'],
    [`Ben is editing title of ${articleOf(first!)}`, articleOf(first!)],
    ['You may not see No. 120, so it may be unpublished', hidden],
    ['Ben has opened Rating of the edition and typed nothing yet', 'field-field_rating'],
    [
      'A text that Anna typed into Internal note of the edition is kept: it can be restored or discarded',
      'Restore the draft of Internal note'
    ],
    ['A text that Anna typed into Title of the edition is kept: it can be restored or discarded', 'Restore the draft of Title'],
    ['A text that Dora typed into Key of the edition is kept: it can be restored or discarded', 'field-field_key']
  ]
  await shows(panel.getByText('Ben is editing Price of the edition').first())
  await accessibleAnywhere(t, anna, 'what stands in the way')
  t.equal(await panel.getByRole('listitem').count(), places.length)
  for (const [words, place] of places) {
    await press(panel.getByRole('listitem').filter({ hasText: words }).getByRole('button'))
    await until(() =>
      anna.evaluate(`[document.activeElement.id, document.activeElement.textContent.trim()].includes(${JSON.stringify(place)})`)
    )
  }
})
