import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../app/fixtures/processes.ts'
import { accessible } from './axe.ts'
import { fieldOf, newsroom, openEdition, shows } from './harness.ts'

t.test('fields have the labels, help texts and required marks that the content model tells', async (t) => {
  const fieldConfig = { title: { label: 'Headline of the day', required: true }, field_page_count: { description: 'How many pages are <em>printed</em>.' }, field_articles: { label: 'Stories' } }
  const model = join(t.testdir({ 'model.json': JSON.stringify({ ...JSON.parse(readFileSync(join(ROOT, 'config/content-model.json'), 'utf8')), fieldConfig }) }), 'model.json')
  const { seat, edition } = await newsroom(t, { CONTENT_MODEL: model })
  const page = await seat(t, 'anna')
  await openEdition(page, await edition('Labels'), 'Labels')
  await shows(fieldOf(page, 'Headline of the day required'))
  const pages = page.getByRole('spinbutton', { name: 'Page count' })
  await shows(page.getByText('How many pages are printed.'))
  t.equal(await pages.getAttribute('aria-describedby'), 'help-field_page_count notes-field_page_count')
  await shows(page.getByRole('heading', { level: 2, name: 'Stories' }))
  await accessible(t, page, 'an edition with labels of Drupal')
})
