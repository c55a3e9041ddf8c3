import t from 'tap'
import { accessible, accessibleAnywhere, fits } from './axe.ts'
import { button, fieldOf, newsroom, openEdition, press, shows, textsOnDisk, until } from './harness.ts'

const MEDIA = '<drupal-media data-entity-type="media" data-entity-uuid="0b6f0fa6-1111-4f6f-8c0e-aa1c3c1d2e3f">&nbsp;</drupal-media>'

t.test('a formatted text is written without its source', async (t) => {
  const { seat, edition, client } = await newsroom(t)

  /** An edition with this description. */
  async function editionWith(title: string, value: string): Promise<string> {
    const id = await edition(title)
    const { etag } = await client('maker').editions.read(id)
    await client('maker').editions.update(id, { field_description: [{ value, format: 'basic_html' }] }, { ifMatch: etag })
    return id
  }
  const saved = async (id: string) => (await client('maker').editions.read(id)).edition['field_description']?.[0]?.['value']
  const isSaved = (id: string, value: string) => until(async () => (await saved(id)) === value)

  t.test(
    'a text that was reverted within the editor comes back by the key that undoes, and what was typed since before that',
    async (t) => {
      const id = await editionWith('Reverted', '<p>Saved</p>')
      const page = await seat(t, 'anna')
      await openEdition(page, id, 'Reverted')
      await press(button(page, 'Formatted Description'))
      const text = fieldOf(page, 'Description')
      const reads = (words: string) => shows(text.getByText(words, { exact: true }))
      await press(text.getByText('Saved'))
      await page.keyboard.press('End')
      await page.keyboard.type(', and typed')
      for (let nth = 0; nth < 2; nth++) await page.keyboard.press('Escape')
      await reads('Saved, and typed')
      await press(button(page, 'Revert Description'))
      await reads('Saved')
      await text.focus()
      await page.keyboard.press('Control+z')
      await reads('Saved, and typed')
      await page.keyboard.press('Control+y')
      await reads('Saved')
      await page.keyboard.press('Control+End')
      await page.keyboard.type('!')
      await page.keyboard.press('Control+z')
      await reads('Saved')
      await page.keyboard.press('Control+z')
      await reads('Saved, and typed')
      await page.keyboard.press('Control+Shift+z')
      await reads('Saved')
      await page.keyboard.press('Control+z')
      await page.keyboard.press('Control+s')
      await isSaved(id, '<p>Saved, and typed</p>')
    }
  )

  t.test('bold, headings, lists, a link and undo, by keys and by tools', async (t) => {
    const id = await editionWith('Formats', `<p class="lead">First</p>${MEDIA}`)
    const page = await seat(t, 'anna')
    await openEdition(page, id, 'Formats')
    const requests: string[] = []
    page.on('request', (request) => {
      requests.push(request.url())
    })
    const text = fieldOf(page, 'Description')
    t.equal(await text.inputValue(), `<p class="lead">First</p>${MEDIA}`, 'the source, until the editor is asked for')
    await press(button(page, 'Formatted Description'))
    await shows(page.getByRole('toolbar', { name: 'Format of Description' }))
    t.equal(requests.filter((url) => url.includes('formatted-editor')).length, 1, 'its script comes when it is opened first')
    await accessibleAnywhere(t, page, 'the editor')
    await fits(t, page, 'the editor')

    const lead = text.locator('p', { hasText: 'First' })
    await press(lead)
    await page.keyboard.press('End')
    await page.keyboard.type(' and ')
    await page.keyboard.press('Control+b')
    await shows(button(page, 'Bold').and(page.locator('[aria-pressed="true"]')))
    await page.keyboard.type('bold')
    await page.keyboard.press('Control+b')
    await page.keyboard.type(', ')
    await press(button(page, 'Italic'))
    await page.keyboard.type('slanted')
    await press(button(page, 'Italic'))
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Shift+Digit2')
    await page.keyboard.type('Head')
    await page.keyboard.press('Enter')
    await page.keyboard.type('one')
    await page.keyboard.press('Control+Shift+Digit8')
    await page.keyboard.press('Enter')
    await page.keyboard.type('two')
    await shows(text.locator('li', { hasText: 'two' }))
    await accessible(t, page, 'a text with a list')

    await page.keyboard.press('Shift+Home')
    await page.keyboard.press('Control+k')
    const address = page.getByRole('textbox', { name: 'Address of the link' })
    await address.fill('javascript:alert(1)')
    await address.press('Enter')
    await shows(page.getByText(/^A link needs an address/))
    await accessibleAnywhere(t, page, 'the address of a link')
    await address.fill('/node/12')
    await address.press('Enter')
    await shows(text.locator('a', { hasText: 'two' }))
    await page.keyboard.press('End')
    await page.keyboard.type('!')
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Alt+F10')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    t.equal(
      await page.evaluate('document.activeElement.getAttribute("aria-label")'),
      'Undo typing',
      'the tools are one stop of Tab, with arrows between them'
    )
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+s')
    await isSaved(
      id,
      `<p class="lead">First and <strong>bold</strong>, <em>slanted</em></p><h2>Head</h2><ul><li>one</li><li><a href="/node/12">two</a></li></ul>${MEDIA}`
    )

    await press(button(page, 'Formatted Description'))
    const source = page.locator('textarea#field-field_description')
    await shows(source)
    t.match(await source.inputValue(), /^<p class="lead">First and/)
  })

  t.test('what is pasted is cleaned', async (t) => {
    const id = await editionWith('Pasting', '<p>Before </p>')
    const page = await seat(t, 'anna')
    await openEdition(page, id, 'Pasting')
    await press(button(page, 'Formatted Description'))
    const text = fieldOf(page, 'Description')
    await press(text.locator('p'))
    await page.keyboard.press('End')
    const hostile =
      '<p style="color:red" onclick="x()">pasted <b>bold</b><script>document.title = "script"</script><img src="x" onerror="y"></p><p><a href="javascript:z()">no</a> <a href="https://a.example/">link</a></p>'
    await page.evaluate(`{
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/html', ${JSON.stringify(hostile)})
      document.querySelector('.words').dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }`)
    await shows(text.getByText('link'))
    await shows(page.getByText('A picture is left out: this text takes words alone.'))
    await page.keyboard.press('Control+s')
    await until(async () =>
      /<p>Before ?pasted <b>bold<\/b><\/p><p>no <a href="https:\/\/a.example\/">link<\/a><\/p>/.test(String(await saved(id)))
    )
  })

  t.test('a text that would not stay as it is is shown as its source, with the reason', async (t) => {
    const id = await editionWith('Loose', 'Loose words\nin two lines')
    const page = await seat(t, 'anna')
    await openEdition(page, id, 'Loose')
    await press(button(page, 'Formatted Description'))
    await shows(page.getByText('This text is shown as its source: a part of it is in no paragraph'))
    const text = fieldOf(page, 'Description')
    t.equal(await text.inputValue(), 'Loose words\nin two lines')
    await accessibleAnywhere(t, page, 'a text without an editor')
    await text.fill('<p>Now in one</p>')
    await press(button(page, 'Formatted Description'))
    await shows(page.getByRole('toolbar', { name: 'Format of Description' }))
    await shows(text.locator('p', { hasText: 'Now in one' }))
  })

  t.test('a crash loses no letter, and others are locked out', async (t) => {
    const id = await editionWith('Crash', '<p>Start</p>')
    const [page, other] = [await seat(t, 'anna'), await seat(t, 'ben')]
    await openEdition(page, id, 'Crash')
    await openEdition(other, id, 'Crash')
    await press(button(page, 'Formatted Description'))
    await press(button(other, 'Formatted Description'))
    const text = fieldOf(page, 'Description')
    await press(text.locator('p'))
    await shows(other.getByText(/Anna is editing/))
    await until(async () => (await fieldOf(other, 'Description').getAttribute('aria-readonly')) === 'true')
    await page.keyboard.press('End')
    const typed = ' and every letter of a line that nobody has saved'
    await page.keyboard.type(typed)
    // Not later than the letter itself is shown.
    await shows(text.getByText('nobody has saved'))
    await until(async () => /nobody has saved<.p>/.test((await textsOnDisk(page)).join()))

    const second = await page.context().newPage()
    await page.close({ runBeforeUnload: false })
    await second.goto(page.url())
    await openEdition(second, id, 'Crash')
    await shows(button(second, /^Restore/))
    await press(button(second, /^Restore/))
    await shows(fieldOf(second, 'Description').getByText(`Start${typed}`))
  })
})
