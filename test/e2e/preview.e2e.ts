import { join } from 'node:path'
import t from 'tap'
import { accessible, accessibleAnywhere, fits } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, PICTURES, press, shows, until } from './harness.ts'

t.test('a formatted text is previewed, and nothing in it does anything', async (t) => {
  const { browser, url, cms, cmsUrl, edition, client } = await newsroom(t)
  const hostile = [
    '<p>Before <strong>bold</strong></p>',
    `<script>top.document.title = 'script'; fetch('${cmsUrl}/loaded/script')</script>`,
    `<img src="${cmsUrl}/loaded/remote.png" alt="A picture" onerror="top.document.title = 'onerror'"><img src="data:," alt="" onerror="top.document.title = 'onerror'">`,
    '<svg onload="top.document.title = \'onload\'"></svg>',
    `<link rel="stylesheet" href="${cmsUrl}/loaded/remote.css"><style>@import "${cmsUrl}/loaded/import.css";</style>`,
    `<iframe src="${cmsUrl}/loaded/frame"></iframe><iframe srcdoc="<script>top.document.title = 'nested'</script>"></iframe><object data="${cmsUrl}/loaded/object"></object>`,
    `<meta http-equiv="refresh" content="0; url=${cmsUrl}/loaded/refresh"><base href="${cmsUrl}/loaded/base/">`,
    `<form action="${cmsUrl}/loaded/form"><input name="secret" autofocus><button>Send it</button></form>`,
    `<p><a href="${cmsUrl}/loaded/link" target="_top">Away</a> <a href="${cmsUrl}/loaded/link" target="_self">Elsewhere</a> <a href="javascript:top.document.title='link'">Script</a></p>`,
    '"\'</div></body></html>--><p>After &amp; "all"</p>'
  ].join('\n')
  const id = await edition('Preview')
  const { etag } = await client('maker').editions.read(id)
  await client('maker').editions.update(
    id,
    { field_description: [{ value: '<p>A <em>first</em> text</p>', format: 'basic_html' }] },
    { ifMatch: etag }
  )

  for (const colorScheme of ['light', 'dark'] as const) {
    t.test(`in ${colorScheme} colours`, async (t) => {
      // Not a seat of the harness: Chromium tells on the console of all that it keeps the text from doing.
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', colorScheme })
      t.teardown(() => context.close())
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      const errors: Error[] = []
      page.on('pageerror', (error) => {
        errors.push(error)
      })
      await page.goto(`${url}/desk?as=anna`)
      await openEdition(page, id, 'Preview')
      const title = await page.title()
      const description = fieldOf(page, 'Description')
      const preview = page.getByTitle('Preview of Description')
      const text = page.frameLocator('.preview iframe').locator('body')

      t.equal(await preview.count(), 0)
      await button(page, 'Preview Description').press('Enter')
      await shows(preview)
      await shows(page.getByText(/^Drupal’s text format decides what is shown in the end/))
      await shows(text.getByText('A first text'))
      t.equal(await preview.getAttribute('sandbox'), '')
      if (colorScheme === 'light') await accessibleAnywhere(t, page, 'a preview')
      await accessible(t, page, 'a preview')
      await fits(t, page, 'a preview')

      await description.fill(hostile)
      await shows(text.getByText('After & "all"'))
      await shows(text.getByText('bold'))
      await page.screenshot({ path: join(PICTURES, `preview-${colorScheme}.png`) })
      for (const what of [text.getByRole('button', { name: 'Send it' }), text.getByText('Away'), text.getByText('Script')]) {
        await press(what)
      }
      await shows(text.getByText('After & "all"'))
      await press(text.getByText('Elsewhere'))
      // What a press sets going takes a moment; a round through the service takes longer.
      await until(
        async () =>
          (await client('ben').locks.list({ type: 'publisher_container', id, fieldName: 'field_description' })).at(0)?.payload === hostile
      )
      const loads = cms.requestLines.filter((line) => line.includes('/loaded/'))
      t.strictSame([await page.title(), loads, errors, context.pages().length], [title, [], [], 1])

      await button(page, 'Revert Description').press('Enter')
      await shows(text.getByText('A first text'))
      await button(page, 'Preview Description').press('Enter')
      await hides(preview)
    })
  }
})
