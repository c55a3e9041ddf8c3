import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Locator, Page } from 'playwright-core'
import { accessibleAnywhere } from './axe.ts'
import { articleOf, button, drag, fieldOf, hides, newsroom, openEdition, press, shows, textsOnDisk, until } from './harness.ts'

const named = (...ids: number[]) => ids.map(articleOf)
const mover = (page: Page, id: number, to: 'up' | 'down') => button(page, `Move ${articleOf(id)} ${to}`)

t.test('the running order', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const { editions, locks } = client('looker')
  const saved = async (id: string) => (await editions.read(id)).edition['field_articles']!.map((item) => item['target_id'])
  const isSaved = (id: string, ...ids: number[]) => until(async () => isDeepStrictEqual(await saved(id), ids))
  const shown = (page: Page) =>
    page
      .getByRole('region', { name: /^Running order/ })
      .getByRole('listitem')
      .locator('.title')
      .allTextContents()
  const inOrder = (page: Page, ...ids: number[]) => until(async () => isDeepStrictEqual(await shown(page), named(...ids)))
  const order = { type: 'publisher_container', fieldName: 'field_articles' }

  t.test('articles are moved with buttons and by dragging, removed, and saved at once, without a lock', async (t) => {
    const id = await edition('Order one', [4, 2, 9, 11])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order one')
    // What articles are called comes after the rest.
    await shows(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 2, 9, 11)
    await press(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 9, 2, 11)
    await isSaved(id, 4, 9, 2, 11)
    const rows = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
    await shows(rows.nth(0).locator('.picture img'))
    await shows(rows.nth(0).getByText('Culture'))
    await accessibleAnywhere(t, anna, 'a running order with images and sections')
    const top = async (what: Locator) => (await what.boundingBox())!.y
    for (const width of [320, 640, 1280]) {
      await anna.setViewportSize({ width, height: 900 })
      const tops = await Promise.all(
        [rows.first(), anna.getByRole('searchbox', { name: 'Search articles' }), anna.getByLabel('Title', { exact: true })].map(top)
      )
      t.ok(tops[0]! < tops[1]! && tops[0]! < tops[2]!, `the order stands first at ${width} px: ${tops.join()}`)
      t.ok((await top(button(anna, 'Undo'))) < 900, 'and the way back is in sight')
    }
    await drag(rows.nth(0), rows.nth(2), 120, 'lower')
    await inOrder(anna, 9, 2, 4, 11)
    await isSaved(id, 9, 2, 4, 11)
    await press(button(anna, `Remove ${articleOf(2)}`))
    await inOrder(anna, 9, 4, 11)
    await until(() => anna.evaluate(`document.activeElement.ariaLabel === 'Remove ${articleOf(4)}'`))
    await isSaved(id, 9, 4, 11)
    t.strictSame(await locks.list({ ...order, id }), [])
    const opened = anna.waitForEvent('popup')
    const asked: string[] = []
    await anna.context().route('**/node/4', (route) => {
      asked.push(route.request().url())
      return route.fulfill({ body: 'Drupal' })
    })
    await press(anna.getByRole('link', { name: articleOf(4) }))
    await (await opened).getByText('Drupal').waitFor()
    t.match(asked, [/\/node\/4$/], 'an article opens in Drupal, in a tab of its own')
  })

  t.test('an article is moved to a place that is named', async (t) => {
    const id = await edition('Order named', [4, 2, 9, 11, 7, 13, 15, 16, 17, 18, 19, 21])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order named')
    await shows(mover(anna, 9, 'up'))
    const placeOf = (id: number) => button(anna, new RegExp(`^\\d+: move ${articleOf(id)} to`))
    const box = (id: number) => anna.getByRole('textbox', { name: `New place of ${articleOf(id)}` })
    await press(placeOf(9))
    await until(() => box(9).evaluate('document.activeElement.ariaLabel'))
    await accessibleAnywhere(t, anna, 'a place that is typed')
    await anna.keyboard.type('1')
    await anna.keyboard.press('Enter')
    await inOrder(anna, 9, 4, 2, 11, 7, 13, 15, 16, 17, 18, 19, 21)
    await until(() => anna.evaluate(`document.activeElement.ariaLabel === 'Move ${articleOf(9)} down'`))
    // What comes sooner is said along with what was said before.
    await anna.waitForTimeout(200)
    await anna.keyboard.type('11')
    await anna.keyboard.press('Enter')
    await isSaved(id, 4, 2, 11, 7, 13, 15, 16, 17, 18, 19, 9, 21)
    t.equal(await anna.getByRole('status').textContent(), `${articleOf(9)}: place 11 of 12`)
    await anna.keyboard.press('Control+z')
    await inOrder(anna, 9, 4, 2, 11, 7, 13, 15, 16, 17, 18, 19, 21)

    for (const [keys, last] of [
      ['300', 'Enter'],
      ['5', 'Escape'],
      ['x', 'Enter'],
      ['7', 'Tab']
    ] as const) {
      await press(placeOf(4))
      await anna.keyboard.type(keys)
      // What others do leaves the box, and what is typed, where it is.
      if (keys === '5') await client('ben').editions.arrange(id, [{ op: 'move', article: { target_id: 21 }, at: 'start' }])
      if (keys === '5') await inOrder(anna, 21, 9, 2, 11, 7, 13, 15, 16, 17, 18, 19, 4)
      if (keys === '5') t.equal(await box(4).inputValue(), '5')
      await anna.keyboard.press(last)
      await hides(box(4))
      if (last !== 'Tab') {
        await until(() => anna.evaluate(`document.activeElement.closest('li').textContent.includes(${JSON.stringify(articleOf(4))})`))
      }
    }
    await inOrder(anna, 21, 9, 2, 11, 7, 13, 15, 16, 17, 18, 19, 4)
  })

  t.test('each result of a search has its section, which moves nothing when it comes, and is asked for once', async (t) => {
    const anna = await seat(t, 'anna')
    const { promise, resolve } = Promise.withResolvers<void>()
    const asked: string[] = []
    await anna.route('**/api/desk/looks/**', async (route) => {
      asked.push(route.request().url())
      await promise
      await route.continue()
    })
    // The newest are there before anything is typed.
    await openEdition(anna, await edition('Order with a search', [4]), 'Order with a search')
    const rows = anna.getByRole('list', { name: 'Articles found' }).getByRole('listitem')
    await shows(rows.nth(19))
    await until(async () => asked.length === 1)
    const boxes = () => anna.evaluate("[...document.querySelectorAll('.found li')].map((item) => item.getBoundingClientRect().top)")
    const sections = () => rows.locator('.section').allTextContents()
    t.strictSame(await sections(), Array(20).fill(''))
    const before = await boxes()
    resolve()
    await until(async () => (await sections()).every((text) => text !== ''))
    t.strictSame(await boxes(), before)
    t.equal(new Set(await sections()).size > 1, true)
    await accessibleAnywhere(t, anna, 'a search with images and sections')
    const title = await rows.nth(0).locator('b').textContent()
    await press(rows.nth(0).getByRole('button', { name: /^Add / }))
    const added = anna
      .getByRole('region', { name: /^Running order/ })
      .getByRole('listitem')
      .nth(1)
    await shows(added.getByText(title!))
    await shows(added.getByText((await sections())[0]!, { exact: true }))
    await anna.getByRole('searchbox', { name: 'Search articles' }).fill(title!)
    await until(async () => (await rows.count()) === 1)
    t.strictSame([await sections(), asked.length], [[(await added.locator('.section').textContent())!], 1])
  })

  t.test('the newest articles are narrowed, read on, and several dragged at once', async (t) => {
    const anna = await seat(t, 'anna')
    // So that nothing scrolls while something is dragged.
    await anna.setViewportSize({ width: 1280, height: 1600 })
    await openEdition(anna, await edition('Order from a feed', [4, 2]), 'Order from a feed')
    const rows = anna.getByRole('list', { name: 'Articles found' }).getByRole('listitem')
    await shows(rows.nth(19))
    await press(anna.getByRole('button', { name: 'More articles' }))
    await until(async () => (await rows.count()) === 40)
    await press(anna.getByText('Filters', { exact: true }))
    await anna.getByLabel('Section').selectOption({ label: 'Culture' })
    await anna.getByLabel('Status').selectOption({ label: 'Published' })
    await shows(anna.getByText('Filters, 2 are on'))
    await until(async () => (await rows.locator('.section').allTextContents()).every((text) => text.startsWith('Culture')))
    await accessibleAnywhere(t, anna, 'a feed with filters')
    const titles = (await rows.locator('b').allTextContents()).slice(0, 3)
    await rows.nth(0).getByRole('checkbox').click()
    await rows
      .nth(2)
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] })
    await shows(anna.getByRole('button', { name: 'Add 3 articles' }))
    const order = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
    await rows.nth(1).dragTo(order.nth(1))
    await until(async () => (await order.count()) === 5)
    t.strictSame((await order.locator('.title').allTextContents()).slice(1, 4), titles)
    await press(anna.getByRole('button', { name: 'Undo', exact: true }))
    await until(async () => (await order.count()) === 2)
  })

  t.test('two desks at once never undo each other, and what comes in leaves the focus where it is', async (t) => {
    const id = await edition('Order two', [4, 2, 9, 11, 7, 13])
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) {
      await openEdition(page, id, 'Order two')
      await shows(mover(page, 13, 'up'))
    }
    await mover(anna, 2, 'down').focus()
    const reads: string[] = []
    anna.on('request', (request) => reads.push(request.url()))
    await press(mover(ben, 9, 'up'))
    await inOrder(anna, 4, 9, 2, 11, 7, 13)
    t.strictSame(reads, [], 'a move of somebody else needs no request')
    await until(() => anna.evaluate(`document.activeElement.ariaLabel === 'Move ${articleOf(2)} down'`))

    await mover(ben, 13, 'up').focus()
    await Promise.all([anna, ben].map((page) => page.keyboard.press('Alt+Home')))
    await until(async () => (await saved(id)).slice(2).join() === '4,9,11,7')
    const first = await saved(id)
    for (const page of [anna, ben]) await inOrder(page, ...(first as number[]))
    t.strictSame(first.slice(0, 2).sort(), [13, 2], 'both are in front')
    await anna.keyboard.press('Control+z')
    for (const page of [anna, ben]) await inOrder(page, 13, 4, 9, 2, 11, 7)
    await isSaved(id, 13, 4, 9, 2, 11, 7)
  })

  t.test('what is pressed or dropped goes beside the article that is seen there, whatever others insert meanwhile', async (t) => {
    const id = await edition('Order seen', [4, 2, 9, 11, 7])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order seen')
    await shows(mover(anna, 9, 'up'))
    const rows = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
    /** Ben inserts one before all others, which the page learns and does not show yet. */
    async function insert(article: number): Promise<void> {
      const read = anna.waitForResponse(new RegExp(`/api/collection/${id}$`))
      await client('ben').editions.arrange(id, [{ op: 'insert', article: { target_id: article }, at: 'start' }])
      await (await read).finished()
      await anna.waitForTimeout(100)
    }
    await rows.nth(0).hover()
    await anna.mouse.down()
    await rows.nth(2).hover()
    await insert(13)
    const { x, y, height } = (await rows.nth(3).boundingBox())!
    await anna.mouse.move(x + 200, y + height * 0.8)
    await anna.mouse.up()
    await inOrder(anna, 13, 2, 9, 11, 4, 7)

    await mover(anna, 11, 'up').hover()
    await anna.mouse.down()
    await insert(15)
    await anna.mouse.up()
    await inOrder(anna, 15, 13, 2, 11, 9, 4, 7)
    await isSaved(id, 15, 13, 2, 11, 9, 4, 7)
  })

  t.test('what is dragged lands at the line, by mouse, pen and finger, and nowhere else', async (t) => {
    const ids = [4, 2, 9, 11, 7, 13, 15, 16, 17, 18, 19, 21]
    const id = await edition('Order dragged', ids)
    const anna = await seat(t, 'anna', { viewport: { width: 390, height: 700 }, hasTouch: true })
    await openEdition(anna, id, 'Order dragged')
    await shows(mover(anna, 9, 'up'))
    const rows = anna.getByRole('region', { name: /^Running order/ }).getByRole('listitem')
    const cdp = await anna.context().newCDPSession(anna)
    const pressed = { id: 1, radiusX: 1, radiusY: 1, force: 1 }
    const ways = {
      mouse: (type: string, x: number, y: number) =>
        cdp.send('Input.dispatchMouseEvent', { type: `mouse${type}` as 'mouseMoved', x, y, button: 'left', buttons: 1, clickCount: 1 }),
      pen: (type: string, x: number, y: number) =>
        cdp.send('Input.dispatchMouseEvent', {
          type: `mouse${type}` as 'mouseMoved',
          x,
          y,
          button: 'left',
          buttons: 1,
          clickCount: 1,
          pointerType: 'pen'
        }),
      finger: (type: string, x: number, y: number) =>
        cdp.send('Input.dispatchTouchEvent', {
          type: { Pressed: 'touchStart', Moved: 'touchMove', Released: 'touchEnd' }[type] as 'touchStart',
          touchPoints: type === 'Released' ? [] : [{ ...pressed, x, y }]
        })
    }
    const lines = () =>
      anna.evaluate(
        `[...document.querySelectorAll('.order li')].flatMap((row, index) => row.dataset.gap ? [row.dataset.gap + ' ' + index] : [])`
      )
    /** Presses a row by its grip, goes by steps to a height, and says where the line is. */
    async function grab(way: keyof typeof ways, from: number, y: number): Promise<{ line: unknown; release: () => Promise<unknown> }> {
      const grip = (await rows.nth(from).locator('.grip').boundingBox())!
      const [x, start] = [grip.x + grip.width / 2, grip.y + grip.height / 2]
      await ways[way]('Pressed', x, start)
      await anna.waitForTimeout(150)
      for (const part of [0.2, 0.6, 1]) await ways[way]('Moved', x, start + (y - start) * part)
      await anna.waitForTimeout(50)
      return { line: await lines(), release: () => ways[way]('Released', x, y) }
    }
    const heightAt = async (row: number, part: number) => {
      const { y, height } = (await rows.nth(row).boundingBox())!
      return y + height * part
    }
    const now = ['4', '2', '9', '11']
    for (const way of ['mouse', 'pen', 'finger'] as const) {
      await anna.evaluate('scrollTo(0, document.querySelector(".order").offsetTop - 120)')
      const { line, release } = await grab(way, 0, await heightAt(2, 0.2))
      t.strictSame(line, ['before 2'], `${way}: the line lies above the third row`)
      await release()
      now.splice(0, 2, now[1]!, now[0]!)
      await inOrder(anna, ...now.map(Number), ...ids.slice(4))
    }
    const still = [...now.map(Number), ...ids.slice(4)]
    const beside = await grab('mouse', 1, await heightAt(0, 0.8))
    t.strictSame(beside.line, [], 'there is no line where it is')
    await beside.release()
    const given = await grab('finger', 0, await heightAt(2, 0.8))
    t.strictSame(given.line, ['before 3'])
    await anna.keyboard.press('Escape')
    t.strictSame(await lines(), [], 'Escape ends it')
    await given.release()
    await anna.waitForTimeout(200)
    await inOrder(anna, ...still)

    const before = Number(await anna.evaluate('scrollY'))
    const edge = await grab('mouse', 0, await anna.evaluate('document.querySelector(".savebar").getBoundingClientRect().top - 4'))
    await until(async () => Number(await anna.evaluate('scrollY')) > before + 150)
    await edge.release()
    await until(async () => (await shown(anna)).indexOf(articleOf(still[0]!)) > 2)
    await anna.keyboard.press('Control+z')
    await inOrder(anna, ...still)

    await anna.setViewportSize({ width: 1280, height: 900 })
    await drag(rows.nth(0), fieldOf(anna, 'Title'))
    await anna.waitForTimeout(200)
    t.equal(await fieldOf(anna, 'Title').inputValue(), 'Order dragged', 'a field takes no headline')
    t.strictSame(await locks.list({ type: 'publisher_container', id }), [], 'and is not locked')
    await inOrder(anna, ...still)
  })

  t.test('what was moved while the service was away is sent once it answers', async (t) => {
    const id = await edition('Order three', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order three')
    await shows(mover(anna, 9, 'up'))
    // The client sends it three times by itself.
    await anna.route('**/articles', (route) => route.abort(), { times: 3 })
    await press(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 9, 2)
    await shows(anna.getByText(/^not saved yet: the service does not answer/))
    await isSaved(id, 4, 9, 2)
    await hides(anna.getByText(/^not saved yet/))
  })

  t.test('what was moved while the service was away outlives the tab, and is offered to the next', async (t) => {
    const id = await edition('Order away', [4, 2, 9])
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order away')
    await shows(mover(anna, 9, 'up'))
    await anna.route('**/articles', (route) => route.abort())
    await press(mover(anna, 9, 'up'))
    await inOrder(anna, 4, 9, 2)
    await until(async () => (await textsOnDisk(anna)).join() === '4 9 2')
    const again = await anna.context().newPage()
    await anna.close({ runBeforeUnload: false })
    await again.goto(anna.url())
    await openEdition(again, id, 'Order away')
    await inOrder(again, 4, 2, 9)
    const kept = again.getByRole('region', { name: 'Kept drafts' })
    await shows(kept.getByText('What you did to the order, not saved'))
    await shows(kept.getByText(/^done at \d\d:\d\d, in this browser alone$/))
    await press(button(kept, 'Restore the draft of Running order'))
    await inOrder(again, 4, 9, 2)
    await isSaved(id, 4, 9, 2)
    await until(async () => (await textsOnDisk(again)).length === 0)
  })

  t.test('while another program has the lock of the order, it is closed until it is taken over', async (t) => {
    const id = await edition('Order four', [4, 2])
    const ben = await seat(t, 'ben')
    await openEdition(ben, id, 'Order four')
    await client('anna').locks.acquire({ ...order, id })
    await shows(ben.getByRole('region', { name: /^Running order/ }).getByText(/^Anna is editing this/))
    t.equal(await mover(ben, 2, 'up').getAttribute('aria-disabled'), 'true')
    await press(mover(ben, 2, 'up'), { force: true })
    await inOrder(ben, 4, 2)

    await press(button(ben, 'Take over Running order'))
    await shows(ben.getByText('You are editing this'))
    await until(() => ben.evaluate(`document.activeElement.ariaLabel === 'Move ${articleOf(4)} down'`))
    await ben.getByRole('heading', { level: 1 }).focus()
    await until(async () => (await locks.list({ ...order, id })).length === 0)
  })

  t.test('an order that was kept as a draft is restored with the articles that there are now', async (t) => {
    const id = await edition('Order five', [4, 2, 9, 11])
    await client('anna').locks.acquire({ ...order, id }, { payload: '9 2 4' })
    await (await client('ben').locks.overwrite({ ...order, id })).release()
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'Order five')
    await press(button(anna, 'Restore the draft of Running order'))
    await inOrder(anna, 9, 11, 2, 4)
    await isSaved(id, 9, 11, 2, 4)
  })
})
