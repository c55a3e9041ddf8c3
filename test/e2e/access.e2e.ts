import { join } from 'node:path'
import t from 'tap'
import { accessible, accessibleAnywhere, fits } from './axe.ts'
import { articleOf, fieldOf, hides, newsroom, openEdition, PICTURES, press, shows, until } from './harness.ts'

const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

t.test('the desk for everybody', async (t) => {
  const { seat, edition, client, url, browser } = await newsroom(t)
  const [sample] = (await client('looker').editions.search({ key: 'daily-2026-11-18' }).next()).value!.editions
  const id = String(sample!['id']![0]!['value'])
  const name = String(sample!['title']![0]!['value'])
  const article = String(sample!['field_articles']![1]!['target_id'])
  for (const field of [
    { type: 'node', id: article, fieldName: 'title' },
    { type: 'publisher_container', id, fieldName: 'field_page_count' }
  ]) {
    const held = await client('carla').locks.acquire(field, { payload: 'x' })
    t.teardown(() => held.release())
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      t.test(`axe finds nothing in the ${colorScheme} pages on a ${size}`, async (t) => {
        const anna = await seat(t, 'anna', { colorScheme, viewport, ...(size === 'phone' && { isMobile: true, hasTouch: true }) })
        const ben = client('ben')
        await shows(anna.getByText('of 60 editions'))
        await shows(anna.getByRole('img', { name: 'Carla' }))
        await accessible(t, anna, 'the list')
        await fits(t, anna, 'the list')
        await anna.screenshot({ path: join(PICTURES, `list-${size}-${colorScheme}.png`) })

        await openEdition(anna, id, name)
        const title = await ben.locks.acquire({ type: 'publisher_container', id, fieldName: 'title' })
        await shows(anna.getByText(/^Ben is editing this/))
        await fieldOf(anna, 'Key').fill('daily-2026-11-18-late')
        await until(
          async () =>
            (await ben.locks.list({ type: 'publisher_container', id, fieldName: 'field_key' })).at(0)?.payload === 'daily-2026-11-18-late'
        )
        const key = await ben.locks.overwrite({ type: 'publisher_container', id, fieldName: 'field_key' })
        await shows(anna.getByText(/^Ben took over Key/))
        await shows(anna.getByRole('region', { name: 'Kept drafts' }).getByText(/taken over by Ben/))
        await accessible(t, anna, 'an edition with locks and a kept draft')
        await fits(t, anna, 'the edition')
        await anna.screenshot({ path: join(PICTURES, `edition-${size}-${colorScheme}.png`) })
        for (const held of [title, key]) await held.release()
        await client('anna').locks.discard({ type: 'publisher_container', id })
      })
    }
  }

  t.test('who has no seat yet is asked who he is', async (t) => {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(`${url}/desk`)
    await shows(page.getByRole('heading', { level: 1, name: 'Who are you?' }))
    await accessibleAnywhere(t, page, 'the seats')
    await press(page.getByRole('link', { name: 'Ben' }))
    await shows(page.getByText('You are Ben'))
    await page.goto(`${url}/desk`)
    await page.getByLabel('Another name').fill('dora')
    await press(page.getByRole('button', { name: 'Sit down' }))
    await shows(page.getByText('You are Dora'))
  })

  t.test('everything is done with the keyboard alone', async (t) => {
    const id = await edition('By keyboard', [4, 2])
    const anna = await seat(t, 'anna')
    const { keyboard } = anna
    const focused = () =>
      anna.evaluate(
        '(({ tagName, textContent, ariaLabel, id }) => ({ tagName, id, name: ariaLabel ?? textContent.trim().replace(/\\s+/g, " ") }))(document.activeElement)'
      ) as Promise<{ tagName: string; id: string; name: string }>
    /** Presses Tab until something has the focus, as it has to be seen to. */
    async function tabTo(name: string | RegExp): Promise<void> {
      for (let presses = 0; presses < 150; presses++) {
        await keyboard.press('Tab')
        const now = await focused()
        if (typeof name === 'string' ? now.name === name || now.id === name : name.test(now.name)) {
          t.equal(
            await anna.evaluate(
              '(({ outlineStyle, outlineWidth, boxShadow }) => (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none")(getComputedStyle(document.activeElement))'
            ),
            true,
            `${now.name || now.id} shows the focus`
          )
          return
        }
      }
      throw new Error(`Tab does not lead to ${name}`)
    }

    await tabTo('To the content')
    await keyboard.press('Enter')
    await until(async () => (await focused()).tagName === 'H1' && (await focused()).name === 'Editions')
    await keyboard.press('Tab')
    await keyboard.type('by keyboard')
    await shows(anna.getByText('1–1 of 1 edition'))
    await tabTo('By keyboard')
    await keyboard.press('Enter')
    await shows(anna.getByRole('heading', { level: 1, name: 'By keyboard' }))
    await until(async () => (await focused()).name === 'By keyboard')
    await anna.getByText('live', { exact: true }).waitFor()

    await tabTo(`Move ${articleOf(2)} up`)
    await keyboard.press('Enter')
    // The focus stays with what was moved.
    await until(async () => (await focused()).name === `Move ${articleOf(2)} down`)
    await tabTo('field-title')
    await keyboard.press('End')
    await keyboard.type(' alone')
    await shows(anna.getByText('You are editing this'))
    await tabTo('Save changes')
    await keyboard.press('Enter')
    await shows(anna.getByText('Saved.'))
    t.match((await client('x').editions.read(id)).edition, {
      title: [{ value: 'By keyboard alone' }],
      field_articles: [{ target_id: 2 }, { target_id: 4 }]
    })

    await anna.evaluate(
      'spoken = []; new MutationObserver(() => { spoken.push({ text: said.textContent, at: performance.now() }) }).observe(said, { childList: true })'
    )
    const [held, other] = await Promise.all(
      ['title', 'field_page_count'].map((fieldName) => client('ben').locks.acquire({ type: 'publisher_container', id, fieldName }))
    )
    await shows(anna.getByText(/^Ben is editing this/).nth(1))
    const spoken = (await anna.evaluate('spoken')) as Array<{ text: string; at: number }>
    for (const label of ['Title', 'Page count']) {
      t.ok(
        spoken.some(({ text }) => text.includes(`Ben is editing ${label}`)),
        'who does not see it hears it'
      )
    }
    const together = spoken.filter(({ at }) => at - spoken[0]!.at < 50)
    t.ok(
      together.every(({ text }, index) => index === 0 || text.startsWith(together[index - 1]!.text)),
      'no text is cut off by the next'
    )
    await other!.release()
    await keyboard.press('Control+Home')
    await anna.getByRole('heading', { level: 1 }).focus()
    await tabTo('Take over Title')
    await keyboard.press('Enter')
    await hides(anna.getByText(/^Ben is editing this/))
    await until(async () => (await focused()).id === 'field-title')
    await held!.release()
    t.match(await client('x').locks.list({ type: 'publisher_container', id, fieldName: 'title' }), [{ userData: { uid: 'anna' } }])
  })

  t.test('the colours of a system and a zoom of 400 % leave everything to be seen', async (t) => {
    const anna = await seat(t, 'anna', { forcedColors: 'active', viewport: { width: 320, height: 256 } })
    await openEdition(anna, id, name)
    const style = (selector: string, property: string, pseudo?: string) =>
      anna.evaluate(`getComputedStyle(document.querySelector('${selector}')${pseudo ? `, '${pseudo}'` : ''}).${property}`)
    const field = '[data-field="title"]'
    const toggle = anna.getByRole('switch').first()
    const looks = async () => [
      await style('[role="switch"]', 'backgroundColor'),
      await style('[role="switch"]', 'backgroundColor', '::before'),
      await toggle.isChecked()
    ]
    const [free, before] = [await style(field, 'borderLeftColor'), await looks()]
    await press(toggle)
    const after = await looks()
    before.forEach((one, index) => t.not(one, after[index]))
    await fieldOf(anna, 'Title').focus()
    await until(async () => (await style(field, 'borderLeftColor')) !== free)
    t.equal(free, await style('body', 'backgroundColor'), 'a field that is not held has no bar')
    t.equal(await style('.savebar', 'position'), 'static', 'it takes no height from what is read')
    const input = '[data-field="field_key"] input'
    const plain = await style(input, 'borderTopStyle')
    const held = await client('ben').locks.acquire({ type: 'publisher_container', id, fieldName: 'field_key' })
    await shows(anna.getByText(/^Ben is editing this/))
    t.not(await style(input, 'borderTopStyle'), plain, 'a locked field has another shape, not another colour alone')
    await held.release()
    await hides(anna.getByText(/^Ben is editing this/))
    await press(toggle)
    await fits(t, anna, 'the edition')
  })
})
