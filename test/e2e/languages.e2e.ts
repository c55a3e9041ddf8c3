import t from 'tap'
import { de } from '../../packages/desk/page/texts-de.ts'
import { en } from '../../packages/desk/page/texts-en.ts'
import { fr } from '../../packages/desk/page/texts-fr.ts'
import type { Texts } from '../../packages/desk/page/lines.ts'
import type { TextKey } from '../../packages/desk/page/texts.ts'
import { accessible } from './axe.ts'
import { newsroom, press, shows, until } from './harness.ts'

/** Lines that are the same words in English, or are short enough to stand in the content. */
const isTelling = (line: string) => !line.includes('{') && line.trim().length > 4

t.test('the desk in the language of its reader', async (t) => {
  const { browser, url, edition, client } = await newsroom(t)
  for (const [locale, texts] of Object.entries({ 'de-DE': de, 'fr-FR': fr } as Record<string, Texts>)) {
    t.test(`a small day in ${locale}`, async (t) => {
      const language = locale.slice(0, 2)
      const title = `Probe ${language}`
      const id = await edition(title, [4, 2])
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale })
      t.teardown(() => context.close())
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      const line = (key: TextKey): string => String(texts[key])
      /** No line of English is to be seen that the language says otherwise. */
      async function speaks(what: string): Promise<void> {
        const foreign = (Object.keys(en) as TextKey[])
          .filter((key) => typeof en[key] === 'string' && isTelling(en[key] as string) && !Object.values(texts).includes(en[key] as string))
          .map((key) => en[key] as string)
        const seen = (await page.locator('body').innerText()).split('\n').map((text) => text.trim())
        const names = (await page.evaluate(
          '[...document.querySelectorAll("[aria-label], [title], [placeholder]")].flatMap((one) => [one.ariaLabel, one.title, one.placeholder])'
        )) as Array<string | null>
        t.strictSame(
          foreign.filter((text) => seen.includes(text) || names.includes(text)),
          [],
          `${what} is in ${language}`
        )
        await accessible(t, page, `${what} in ${language}`)
      }

      await page.goto(`${url}/desk?as=anna`)
      await shows(page.getByRole('heading', { level: 1, name: line('editions') }))
      await shows(page.getByRole('link', { name: title }))
      t.equal(await page.locator('html').getAttribute('lang'), language)
      await speaks('the list')
      await page.setViewportSize({ width: 320, height: 900 })
      const row = page
        .getByRole('list', { name: line('editionsFound') })
        .getByRole('listitem')
        .first()
      const [date, status] = await Promise.all([row.locator('.when small'), row.locator('.pill')].map((one) => one.boundingBox()))
      t.ok(
        date!.y + date!.height <= status!.y || date!.x + date!.width <= status!.x,
        'nothing of a row stands over the rest in a narrow window'
      )
      await page.setViewportSize({ width: 1280, height: 900 })

      await page.goto(`${url}/desk?as=anna#/editions/${id}`)
      await shows(page.getByText(line('live'), { exact: true }))
      await speaks('an edition')
      const field = page.getByRole('textbox', { name: new RegExp(`^${line('title')}`) })
      await field.fill(`${title} 2`)
      await shows(page.getByText(line('youEdit')))
      t.match(await client('ben').locks.list({ type: 'publisher_container', id, fieldName: 'title' }), [{ userData: { uid: 'anna' } }])
      await press(page.getByRole('button', { name: line('saveChanges') }))
      await shows(page.getByText(line('saved'), { exact: true }))
      t.match((await client('ben').editions.read(id)).edition, { title: [{ value: `${title} 2` }] })
      await page.getByRole('heading', { level: 1 }).focus()
      await until(async () => (await client('x').locks.list({ type: 'publisher_container', id })).length === 0)

      const held = await client('ben').locks.acquire({ type: 'publisher_container', id, fieldName: 'field_key' })
      await shows(page.getByRole('button', { name: new RegExp(`^${line('takeOver')}`) }))
      await speaks('a locked field')
      await held.release()
    })
  }
})
