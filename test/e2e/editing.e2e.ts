import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { ROOT } from '../app/fixtures/processes.ts'
import { accessibleAnywhere } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, press, shows, textsOnDisk, until } from './harness.ts'

t.test('two editors at one edition', async (t) => {
  const { url, seat, edition, client } = await newsroom(t)
  const looker = client('looker')
  const lockOf = async (id: string, fieldName = 'title') => (await looker.locks.list({ type: 'publisher_container', id, fieldName })).at(0)

  t.test('the focus takes the lock; the other sees at once who has the field and since when, and cannot write into it', async (t) => {
    const id = await edition('The first')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'The first')
    await fieldOf(anna, 'Title').focus()
    await shows(anna.getByText('You are editing this'))
    await shows(ben.getByText(/^Anna is editing this since \d\d:\d\d$/))
    t.equal(await fieldOf(ben, 'Title').isEditable(), false)
    t.match(await lockOf(id), { userData: { uid: 'anna', name: 'Anna' } })
    await shows(ben.getByRole('complementary', { name: 'At work' }).getByText('Anna'))
    await fieldOf(anna, 'Title').blur()
    await hides(ben.getByText('is editing this'))
    t.equal(await fieldOf(ben, 'Title').isEditable(), true)
    t.equal(await lockOf(id), undefined)
  })

  t.test('who comes to a field in the moment before he learns of its lock is refused, and told whose it is', async (t) => {
    const id = await edition('The second')
    const ben = await seat(t, 'ben')
    // The live board is held back, as a slow network would: that of a window with a stream of its own.
    await ben.addInitScript('delete window.SharedWorker')
    await ben.reload()
    await ben.route('**/locks/events', (route) => route.abort())
    await ben.goto(`${ben.url().split('#')[0]}#/editions/${id}`)
    await ben.getByRole('heading', { level: 1, name: 'The second' }).waitFor()
    await client('anna').locks.acquire({ type: 'publisher_container', id, fieldName: 'title' }, { payload: 'The second' })
    await fieldOf(ben, 'Title').focus()
    await shows(ben.getByText(/^Anna is editing this since/))
    t.equal(await fieldOf(ben, 'Title').isEditable(), false)
    t.match(await lockOf(id), { userData: { uid: 'anna' } })
  })

  t.test(
    'what is typed is kept in the lock; after a takeover its writer learns of it at once, finds the text kept, and gets it back',
    async (t) => {
      const id = await edition('Harbour bridge')
      const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
      for (const page of [anna, ben]) await openEdition(page, id, 'Harbour bridge')
      await fieldOf(anna, 'Title').fill('Harbour bridge to open on Monday')
      await until(async () => (await lockOf(id))?.payload === 'Harbour bridge to open on Monday')
      await press(button(ben, 'Take over Title'))
      await shows(ben.getByText('You are editing this'))
      t.equal(await fieldOf(ben, 'Title').inputValue(), 'Harbour bridge', 'he begins with what is saved')
      await shows(anna.getByText('Ben took over Title. What you had typed is under Kept drafts.'))
      await shows(anna.getByText(/^Ben is editing this since/))
      t.equal(await fieldOf(anna, 'Title').isEditable(), false)
      t.match(await lockOf(id), { userData: { uid: 'ben' } })

      await ben.keyboard.press('End')
      await ben.keyboard.type(' opens')
      await press(button(ben, 'Save changes'))
      await shows(ben.getByText('Saved.'))
      await shows(anna.getByRole('heading', { level: 1, name: 'Harbour bridge opens' }))
      const kept = anna.getByRole('region', { name: 'Kept drafts' })
      await shows(kept.getByText('Harbour bridge to open on Monday'))
      await shows(kept.getByText(/taken over by Ben/))
      await press(button(kept, 'Restore the draft of Title'))
      await until(async () => (await fieldOf(anna, 'Title').inputValue()) === 'Harbour bridge to open on Monday')
      await until(async () => (await lockOf(id))?.userData.uid === 'anna')
      await press(button(anna, 'Save changes'))
      await shows(ben.getByRole('heading', { level: 1, name: 'Harbour bridge to open on Monday' }))
      t.match((await looker.editions.read(id)).edition, { title: [{ value: 'Harbour bridge to open on Monday' }] })
      await hides(kept.getByText('taken over by Ben'))
      await until(async () => (await client('anna').locks.drafts({ type: 'publisher_container', id })).length === 0)
    }
  )

  t.test('who types is displaced in the midst of a word; not a letter of it is lost', async (t) => {
    const id = await edition('The typed one')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'The typed one')
    await fieldOf(anna, 'Title').focus()
    await shows(ben.getByText(/^Anna is editing this since/))
    let typed = 'The typed one'
    const stopped = new AbortController()
    const writer = (async () => {
      await anna.keyboard.press('End')
      while (!stopped.signal.aborted) {
        await anna.keyboard.type('x')
        const now = await fieldOf(anna, 'Title').inputValue()
        if (now.startsWith(typed)) typed = now
      }
    })()
    // No pause is long enough for the text to rest, and it is kept all the same.
    await until(async () => ((await lockOf(id))?.payload?.length ?? 0) > typed.length / 2 && typed.length > 30)
    await press(button(ben, 'Take over Title'))
    await shows(ben.getByText('You are editing this'))
    await shows(anna.getByText('Ben took over Title. What you had typed is under Kept drafts.'))
    stopped.abort()
    await writer
    t.ok((await anna.getByRole('region', { name: 'Kept drafts' }).textContent())!.includes(typed), typed)
    t.match(await lockOf(id), { userData: { uid: 'ben' } })
  })

  t.test('letters have the size that the reader has chosen in the browser', async (t) => {
    const id = await edition('Large letters', [4])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Large letters')
    const sizes = () =>
      anna.evaluate(
        "[...new Set([...document.querySelectorAll('body, main *')].map((element) => Number.parseFloat(getComputedStyle(element).fontSize)))]"
      ) as Promise<number[]>
    const before = await sizes()
    await anna.evaluate("document.documentElement.style.fontSize = '200%'")
    t.strictSame(
      await sizes(),
      before.map((size) => 2 * size)
    )
  })

  t.test('a tab that is closed lets go of its field', async (t) => {
    const id = await edition('The fourth')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'The fourth')
    await fieldOf(anna, 'Title').focus()
    await shows(ben.getByText(/^Anna is editing this/))
    await anna.close({ runBeforeUnload: true })
    await hides(ben.getByText('is editing this'))
    t.equal(await lockOf(id), undefined)
  })

  t.test('a text that was typed survives the closed tab and is offered again', async (t) => {
    const id = await edition('The fifth')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The fifth')
    await fieldOf(anna, 'Title').fill('The fifth, typed')
    await until(async () => (await lockOf(id))?.payload === 'The fifth, typed')
    const again = await anna.context().newPage()
    await again.goto(`${url}/desk?as=anna`)
    await anna.close({ runBeforeUnload: true })
    await openEdition(again, id, 'The fifth')
    await shows(again.getByText('You had typed “The fifth, typed”'))
    t.equal(await fieldOf(again, 'Title').inputValue(), 'The fifth')
    await press(button(again, 'Restore Title'))
    await until(async () => (await fieldOf(again, 'Title').inputValue()) === 'The fifth, typed')
    await press(button(again, 'Save changes'))
    await shows(again.getByText('Saved.'))
    await until(async () => (await lockOf(id)) === undefined)
    t.match((await looker.editions.read(id)).edition, { title: [{ value: 'The fifth, typed' }] })
  })

  t.test('what was typed in the moment before the page was left is kept too, behind a write that is not answered yet', async (t) => {
    const id = await edition('The last word')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The last word')
    await fieldOf(anna, 'Title').focus()
    await shows(anna.getByText('You are editing this'))
    const written = Promise.withResolvers<void>()
    await anna.route(`**/publisher_container/${id}`, async (route) => {
      if (route.request().postDataJSON().payload === 'The last') written.resolve()
      else await route.continue()
    })
    await fieldOf(anna, 'Title').fill('The last')
    await written.promise
    await fieldOf(anna, 'Title').fill('The last word, typed')
    await anna.goto('about:blank')
    await until(async () => (await lockOf(id))?.payload === 'The last word, typed')
  })

  t.test('what was typed may be thrown away instead', async (t) => {
    const id = await edition('The sixth')
    const anna = await seat(t, 'anna')
    await client('anna').locks.acquire({ type: 'publisher_container', id, fieldName: 'title' }, { payload: 'Rubbish' })
    await openEdition(anna, id, 'The sixth')
    await shows(anna.getByText('You had typed “Rubbish”'))
    await press(button(anna, 'Discard what you had typed in Title'))
    await hides(anna.getByText('You had typed “'))
    await until(async () => (await lockOf(id)) === undefined)
    const kept = anna.getByRole('region', { name: 'Kept drafts' })
    await shows(kept.getByText('Rubbish'))
    await press(button(kept, 'Discard the draft of Title'))
    await hides(kept.getByText('Rubbish'))
  })

  t.test('the focus stays with the field that something was decided of, and with a reader who has gone elsewhere', async (t) => {
    const id = await edition('The focused')
    const title = { type: 'publisher_container', id, fieldName: 'title' }
    await client('anna').locks.acquire(title, { payload: 'Typed before' })
    const anna = await seat(t, 'anna')
    const focused = () => anna.evaluate('document.activeElement.id')
    await openEdition(anna, id, 'The focused')
    await button(anna, 'Restore Title').press('Enter')
    await hides(anna.getByText('You had typed “'))
    t.equal(await focused(), 'field-title')
    await client('ben').locks.overwrite(title)
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await anna.route(`**/publisher_container/${id}`, async (route) => {
      if (route.request().method() === 'PUT') {
        asked.resolve()
        await answered.promise
      }
      await route.continue()
    })
    await press(button(anna, 'Take over Title'))
    await asked.promise
    await fieldOf(anna, 'Key').pressSequentially('a')
    answered.resolve()
    await until(async () => (await lockOf(id))?.userData.uid === undefined)
    await anna.keyboard.type('b')
    t.match(await fieldOf(anna, 'Key').inputValue(), /ab/)
    t.equal(await focused(), 'field-field_key')
  })

  t.test('of several drafts of a field each can be restored, and discarded', async (t) => {
    const id = await edition('The drafts')
    const title = { type: 'publisher_container', id, fieldName: 'title' }
    for (const payload of ['The first draft', 'The second draft']) {
      await client('anna').locks.overwrite(title, { payload })
      await (await client('ben').locks.overwrite(title)).release()
    }
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The drafts')
    const kept = anna.getByRole('region', { name: 'Kept drafts' })
    await shows(kept.getByText('The first draft'))
    t.equal(await button(kept, 'Restore the draft of Title').count(), 2)
    const discard = (text: string) => press(button(kept.getByRole('listitem').filter({ hasText: text }), 'Discard the draft of Title'))
    await discard('The second draft')
    await hides(kept.getByText('The second draft'))
    await shows(kept.getByText('The first draft'))
    await discard('The first draft')
    await hides(kept.getByText('The first draft'))
  })

  t.test('values that the CMS refuses are told where they are, and stay', async (t) => {
    const id = await edition('The seventh')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The seventh')
    await fieldOf(anna, 'Title').fill('')
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText(/^Not saved/))
    t.equal(await fieldOf(anna, 'Title').getAttribute('aria-invalid'), 'true')
    await fieldOf(anna, 'Title').fill('The seventh, mended')
    await press(button(anna, 'Save changes'))
    await shows(anna.getByRole('heading', { level: 1, name: 'The seventh, mended' }))
  })

  t.test('a number or a date that is not complete is never saved as none', async (t) => {
    const id = await edition('The eighth')
    const before = { field_page_count: [{ value: 32 }], field_publication_date: [{ value: '2026-11-18' }] }
    await looker.editions.update(id, before)
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The eighth')
    const [number, date] = [anna.getByLabel(/^Page count/), anna.getByLabel(/^Publication date/)]
    const problem = anna.getByText('This is not complete: finish it, or empty it.')
    for (const [box, keys, finished] of [
      [number, ['End', 'e'], '48'],
      [date, ['ArrowRight', 'Backspace'], '2026-11-20']
    ] as const) {
      await box.focus()
      for (const key of keys) await anna.keyboard.press(key)
      await shows(problem)
      t.equal(await anna.evaluate('document.activeElement.validity.badInput'), true, 'what was typed stands')
      await press(button(anna, 'Save changes'))
      await shows(anna.getByText(/^Not saved: .* not complete/))
      t.match((await looker.editions.read(id)).edition, before)
      await box.fill(finished)
      await hides(problem)
    }
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.match((await looker.editions.read(id)).edition, {
      field_page_count: [{ value: 48 }],
      field_publication_date: [{ value: '2026-11-20' }]
    })
    await date.focus()
    for (const key of ['Backspace', 'ArrowRight', 'Backspace', 'ArrowRight', 'Backspace']) await anna.keyboard.press(key)
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))
    t.match((await looker.editions.read(id)).edition, { field_publication_date: [] }, 'one that was emptied is')
  })
})

t.test('what has the focus is never behind the bars, however small the window', async (t) => {
  const { seat, edition } = await newsroom(t)
  const id = await edition('The focus', [4, 2, 9, 11])
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'The focus')
  for (const name of [
    'title',
    'field_key',
    'field_price',
    'field_page_count',
    'field_rating',
    'field_internal_note',
    'field_description'
  ]) {
    await anna.locator(`#field-${name}`).fill('1')
  }
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText(/^Not saved: Drupal does not let you change Internal note/))
  for (const [width, height] of [
    [1280, 900],
    [640, 500],
    [320, 568]
  ] as const) {
    await anna.setViewportSize({ width, height })
    await anna.getByRole('heading', { level: 1 }).focus()
    const behind = new Set<unknown>()
    for (const key of [...Array(60).fill('Tab'), ...Array(60).fill('Shift+Tab')]) {
      await anna.keyboard.press(key)
      behind.add(
        await anna.evaluate(`(() => {
        const { activeElement: element } = document
        const { left, top, width, height } = element.getBoundingClientRect()
        const bar = document.elementFromPoint(left + width / 2, top + height / 2)?.closest('.bar, .savebar')
        return bar?.contains(element) === false ? element.id || element.ariaLabel || element.textContent : ''
      })()`)
      )
    }
    t.strictSame([...behind], [''], `${width} x ${height}`)
  }
})

t.test('on paper an edition has its whole texts, its order by number, and nothing to press', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const id = await edition('On paper', [4, 2])
  await client('maker').editions.update(id, { field_description: [{ value: 'A line.\n'.repeat(40), format: 'plain_text' }] })
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'On paper')
  const text = anna.getByRole('textbox', { name: 'Description' })
  const isWhole = () =>
    text.evaluate((box: unknown) => (box as Record<string, number>)['scrollHeight']! <= (box as Record<string, number>)['clientHeight']!)
  t.equal(await isWhole(), false)
  await anna.emulateMedia({ media: 'print' })
  t.equal(await isWhole(), true)
  const pressable = anna.locator('button:visible, .bar:visible, .savebar:visible, aside:visible')
  t.strictSame(await pressable.allTextContents(), ['1', '2'])
  await anna.emulateMedia({ media: 'screen' })
})

t.test('times are those of the site, wherever the reader is', async (t) => {
  const model = join(
    t.testdir({
      'model.json': JSON.stringify({
        ...JSON.parse(readFileSync(join(ROOT, 'config/content-model.json'), 'utf8')),
        timeZone: 'Europe/Berlin'
      })
    }),
    'model.json'
  )
  const { seat, edition, client } = await newsroom(t, { CONTENT_MODEL: model })
  const id = await edition('The hour')
  const { editions } = client('looker')
  await editions.update(id, { field_expires: [{ value: '2026-11-18T05:00:00+01:00' }] })
  const anna = await seat(t, 'anna', { timezoneId: 'America/New_York' })
  await openEdition(anna, id, 'The hour')
  await shows(anna.getByText('Times are those of Europe/Berlin'))
  const expires = anna.getByLabel(/^Expires/)
  t.match(await expires.inputValue(), /^2026-11-18T05:00/)
  await expires.fill('2027-03-28T02:30:00')
  await shows(anna.getByText('There is no such time in Europe/Berlin: the clocks are put forward then.'))
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText(/^Not saved: .* not complete/))
  await press(anna.getByRole('button', { name: 'Expires', exact: true }))
  t.equal(await anna.evaluate('document.activeElement.id'), 'field-field_expires', 'its name leads there')
  await expires.fill('2027-07-01T05:00:00')
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText('Saved.'))
  const { edition: saved } = await editions.read(id)
  t.equal(Date.parse(String(saved['field_expires']![0]!['value'])), Date.parse('2027-07-01T05:00:00+02:00'))
})

t.test('a range is shown, and saved, with both ends', async (t) => {
  const { seat, edition } = await newsroom(t)
  const id = await edition('The range')
  const anna = await seat(t, 'anna')
  // The sample site has no such field.
  let run = { value: '2026-11-18', end_value: '2026-11-20' }
  const sent: unknown[] = []
  await anna.route(`**/api/collection/${id}`, async (route) => {
    const { field_run: own, ...body } = route.request().postDataJSON() ?? {}
    if (own) {
      sent.push(own)
      run = own[0]
    }
    const answer = own
      ? await route.fetch({ method: 'GET', headers: {} })
      : await route.fetch({ ...(Object.keys(body).length > 0 && { postData: body }) })
    await route.fulfill({ response: answer, json: { ...(await answer.json()), field_run: [run] } })
  })
  await openEdition(anna, id, 'The range')
  const [from, to] = [anna.getByLabel('Run, from'), anna.getByLabel('Run, to')]
  await until(async () => (await from.inputValue()) === '2026-11-18')
  t.equal(await to.inputValue(), '2026-11-20')
  await accessibleAnywhere(t, anna, 'a range')
  await press(to)
  await to.fill('2026-11-17')
  await shows(anna.getByText('The end is before the beginning.'))
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText(/^Not saved: .* not complete/))
  await to.fill('')
  await shows(anna.getByText('This is not complete: finish it, or empty it.'))
  await press(button(anna, 'Revert Run'))
  await until(async () => (await to.inputValue()) === '2026-11-20')
  await to.focus()
  await anna.keyboard.press('Backspace')
  await shows(anna.getByText('This is not complete: finish it, or empty it.'))
  t.equal(await to.evaluate('document.activeElement.validity.badInput'), true, 'what was typed stands')
  await to.fill('2026-11-22')
  await press(button(anna, 'Save changes'))
  await shows(anna.getByText('Saved.'))
  t.strictSame(sent, [[{ value: '2026-11-18', end_value: '2026-11-22' }]])
})

t.test('no letter that is on the disk is lost in a tab that crashes, though none of them was sent', async (t) => {
  const { url, seat, edition } = await newsroom(t)
  const id = await edition('The fast hand')
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'The fast hand')
  await anna.route(`**/publisher_container/${id}`, () => {})
  const typed = 'The quick brown fox jumps over the lazy dog. '.repeat(3)
  await fieldOf(anna, 'Title').fill('')
  await anna.keyboard.type(typed)
  await until(async () => (await textsOnDisk(anna)).join() === typed)
  const crashed = anna.waitForEvent('crash')
  ;(await anna.context().newCDPSession(anna)).send('Page.crash').catch(() => {})
  await crashed
  const again = await anna.context().newPage()
  await again.goto(`${url}/desk?as=anna`)
  await openEdition(again, id, 'The fast hand')
  const kept = again.getByRole('region', { name: 'Kept drafts' })
  await shows(kept.getByText(/^typed at \d\d:\d\d, in this browser alone$/))
  await press(button(kept, 'Restore the draft of Title'))
  await until(async () => (await fieldOf(again, 'Title').inputValue()) === typed)
  await shows(again.getByText(/^You are editing this kept \d\d:\d\d$/))
  await press(button(again, 'Save changes'))
  await shows(again.getByText('Saved.'))
  await hides(kept.getByText('in this browser alone'))
  await until(async () => (await textsOnDisk(again)).length === 0)
})

t.test('no letter of the form of a new edition is lost, in a crash, in a reload or on the way through the page', async (t) => {
  const { url, seat, client } = await newsroom(t)
  const anna = await seat(t, 'anna')
  const form = async (page: Page) => {
    await page.goto(`${url}/desk?as=anna#/new`)
    await shows(button(page, 'Make it'))
  }
  const kept = (page: Page) => page.getByRole('region', { name: 'Kept drafts' })
  await form(anna)
  const other = await anna.context().newPage()
  await form(other)
  await fieldOf(other, 'Title').fill('Of another tab')
  await fieldOf(anna, 'Title').fill('')
  await anna.keyboard.type('The harbour')
  await fieldOf(anna, 'Key').fill('harbour')
  await until(async () => (await textsOnDisk(anna)).join() === 'Of another tab,The harbour,harbour')
  const crashed = anna.waitForEvent('crash')
  ;(await anna.context().newCDPSession(anna)).send('Page.crash').catch(() => {})
  await crashed

  const again = await other.context().newPage()
  await form(again)
  await shows(kept(again).getByText(/^typed at \d\d:\d\d, in this browser alone$/))
  t.not(await fieldOf(again, 'Title').inputValue(), 'The harbour')
  await accessibleAnywhere(t, again, 'a new edition with kept drafts')
  await press(button(kept(again).getByRole('listitem').filter({ hasText: 'The harbour' }), 'Restore the draft of Title'))
  await until(() => again.evaluate('document.activeElement.id === "new-title"'))
  t.equal(await fieldOf(again, 'Title').inputValue(), 'The harbour')
  await again.keyboard.press('End')
  await again.keyboard.type(' bridge')
  await again.reload()
  await press(button(kept(again).getByRole('listitem').filter({ hasText: 'The harbour bridge' }), 'Restore the draft of Title'))
  await press(again.getByRole('link', { name: 'All editions' }))
  await press(again.getByRole('link', { name: 'New edition' }))
  await press(button(kept(again).getByRole('listitem').filter({ hasText: 'The harbour bridge' }), 'Restore the draft of Title'))
  await press(button(kept(again), 'Restore the draft of Key'))
  await press(button(again, 'Make it'))
  await shows(again.getByRole('heading', { level: 1, name: 'The harbour bridge' }))
  const [made] = (await client('looker').editions.search({ key: 'harbour' }).next()).value!.editions
  t.match(made, { title: [{ value: 'The harbour bridge' }] })

  await until(async () => (await textsOnDisk(again)).join() === 'Of another tab')
  t.equal(await fieldOf(other, 'Title').inputValue(), 'Of another tab')
  await press(button(other, 'Cancel'))
  await shows(other.getByRole('heading', { level: 1, name: 'Editions' }))
  t.strictSame(await textsOnDisk(other), ['Of another tab'])
  await form(again)
  await shows(kept(again).getByText('Of another tab'))
  await press(button(kept(again), 'Discard the draft of Title'))
  await hides(kept(again))
})

t.test('what was typed in a tab that crashed is offered once its lock has expired', async (t) => {
  const { url, seat, edition, client } = await newsroom(t, { LOCK_LEASE_SECONDS: '1' })
  const id = await edition('The crash')
  const at = { type: 'publisher_container', id }
  const { ok } = await fetch(`${url}/api/cloud/data-state/${at.type}/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fieldName: 'title', userData: { uid: 'anna', name: 'Anna' }, payload: 'Typed before the crash' })
  })
  t.ok(ok)
  const { locks } = client('anna')
  await until(async () => (await locks.list(at)).length === 0)
  const anna = await seat(t, 'anna')
  await openEdition(anna, id, 'The crash')
  const kept = anna.getByRole('region', { name: 'Kept drafts' })
  await shows(kept.getByText('Typed before the crash'))
  await shows(kept.getByText(/^its lock ended at /))
  await press(button(kept, 'Restore the draft of Title'))
  await until(async () => (await locks.list(at))[0]?.payload === 'Typed before the crash')
  t.equal(await fieldOf(anna, 'Title').inputValue(), 'Typed before the crash')
})
