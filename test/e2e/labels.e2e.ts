import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../app/fixtures/processes.ts'
import { accessibleAnywhere } from './axe.ts'
import { fieldOf, newsroom, openEdition, shows } from './harness.ts'

t.test('fields have the labels, help texts and required marks that the content model tells', async (t) => {
  const fieldConfig = {
    title: { label: 'Headline of the day', required: true },
    field_publication_date: { description: 'The day it is <em>sold</em>.', required: true },
    field_page_count: { description: 'How many pages are <em>printed</em>.', group: 'In print' },
    field_articles: { label: 'Stories' }
  }
  const model = join(
    t.testdir({
      'model.json': JSON.stringify({ ...JSON.parse(readFileSync(join(ROOT, 'config/content-model.json'), 'utf8')), fieldConfig })
    }),
    'model.json'
  )
  const { seat, edition } = await newsroom(t, { CONTENT_MODEL: model })
  const page = await seat(t, 'anna')
  await openEdition(page, await edition('Labels'), 'Labels')
  await shows(fieldOf(page, 'Headline of the day required'))
  const pages = page.getByRole('spinbutton', { name: 'Page count' })
  await shows(page.getByText('How many pages are printed.'))
  t.equal(await pages.getAttribute('aria-describedby'), 'help-field_page_count notes-field_page_count')
  await shows(page.getByRole('heading', { level: 2, name: 'Stories' }))
  await shows(page.getByRole('group', { name: 'In print' }).getByRole('spinbutton', { name: 'Page count' }))
  await accessibleAnywhere(t, page, 'an edition with labels of Drupal')

  await page.goto(`${page.url().split('#')[0]}#/new`)
  await shows(page.getByRole('textbox', { name: 'Headline of the day needed' }))
  const date = page.getByLabel('Publication date needed')
  await shows(date)
  t.strictSame(await Promise.all(['aria-describedby', 'aria-required'].map((name) => date.getAttribute(name))), [
    'help-new-field_publication_date notes-new-field_publication_date',
    'true'
  ])
  await shows(page.getByText('The day it is sold.'))
  await accessibleAnywhere(t, page, 'a new edition with labels of Drupal')
})
