import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createClient, type Client } from '../../packages/client/src/client.ts'
import { DEV, emptyDirectory, ROOT, runNode } from '../app/fixtures/processes.ts'

/** How long a page may take to show what it should, in milliseconds; CI machines are slow. */
const PATIENCE_MS = 30_000

/** How long a hand holds a button down, in milliseconds: Playwright's own click takes none, and misses nothing that moves. */
const PRESS_MS = 120

/** Told by the console of what is not where it was when a press or a drag began, once it ends. What an icon is drawn of moves nothing when it arrives. */
const MOVED = `{
  const places = () => new Map([...document.querySelectorAll('main, main *:not(svg *)')].map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect()
    return [element, [x + scrollX, y + scrollY, width, height].map(Math.round).join()]
  }))
  let before
  let scrolled
  addEventListener('pointerdown', () => { before = places(); scrolled = scrollY }, true)
  addEventListener('pointerup', () => {
    // A drag scrolls the page, and with it what stands still in the window.
    const now = scrollY === scrolled ? places() : before ?? new Map()
    for (const [element, place] of before ?? []) {
      if (now.get(element) === place) continue
      console.error('moved under a press, from ' + place + ' to ' + now.get(element) + ': ' + element.outerHTML.slice(0, 200))
      break
    }
    before = undefined
  }, true)
}`

export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** Where CI finds what the pages look like, those of failed tests too. */
export const PICTURES = join(ROOT, 'test/e2e/pictures')
mkdirSync(PICTURES, { recursive: true })

/** What Chromium itself says of an answer that is no success, which the page has to say in its own words. */
const EXPECTED = /^Failed to load resource: /

export interface Newsroom {
  url: string
  cms: Cms
  cmsUrl: string
  browser: Browser
  /** Ends the service, as a deployment does; what it gives starts another at the same address, with the same locks. */
  stop: () => Promise<() => Promise<void>>
  /** A client of the same service, to prepare and to look. */
  client: (name: string) => Client
  /** The desk as an editor has it in a browser of his own, closed when the test ends. */
  seat: (t: Test, name: string, options?: BrowserContextOptions) => Promise<Page>
  /** A new edition with this title and articles; its id. */
  edition: (title: string, articles?: number[]) => Promise<string>
}

/**
 * The desk as `npm run dev` serves it, in front of a sample CMS of the test's own, and a Chromium; all ended when the
 * test ends. A page that throws, breaks its Content-Security-Policy, loads anything but from here, or moves under a press,
 * fails its test.
 */
export async function newsroom(t: Test, env: Record<string, string> = {}): Promise<Newsroom> {
  if (!existsSync(CHROMIUM)) throw new Error(`There is no ${CHROMIUM}: run test/e2e/install-chromium.sh, or set CHROMIUM`)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const cwd = emptyDirectory(t)
  async function start(PORT: string) {
    // On a slow machine no lock ends in the midst of a test.
    const quoin = runNode(t, DEV, {
      cwd,
      env: {
        PORT,
        LOG_LEVEL: 'warn',
        CMS_URL,
        CMS_AUTH: 'basic',
        CMS_USER: 'editor',
        CMS_PASSWORD: 'editor',
        EVENTS_POLL_MS: '100',
        LOCK_LEASE_SECONDS: '0',
        ...env
      }
    })
    return { ...quoin, url: (await quoin.says(/Quoin listens on (\S+)/))[1]! }
  }
  let running = await start('0')
  const { url } = running
  async function stop() {
    running.child.kill('SIGTERM')
    await running.ended
    return async () => {
      running = await start(new URL(url).port)
    }
  }
  // Chromium's sandbox does not work for root, as which CI runs; it shows nothing but this service.
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  t.teardown(() => browser.close())

  const client = (name: string) => createClient({ url, user: { uid: name, name: name.charAt(0).toUpperCase() + name.slice(1) } })

  async function seat(t: Test, name: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      ...options
    })
    context.setDefaultTimeout(PATIENCE_MS)
    await context.addInitScript({ content: MOVED })
    const wrong: string[] = []
    context.on('console', (message) => {
      if (message.type() === 'error' && !EXPECTED.test(message.text())) wrong.push(message.text())
    })
    context.on('weberror', (error) => {
      wrong.push(String(error.error().stack))
    })
    context.on('request', (request) => {
      if (!request.url().startsWith('data:') && ![url, CMS_URL].includes(new URL(request.url()).origin)) {
        wrong.push(`it asked for ${request.url()}`)
      }
    })
    t.teardown(async () => {
      if (!t.passing()) {
        // A page that crashed has no picture; its context has to be closed nevertheless.
        await Promise.allSettled(
          context
            .pages()
            .map((page, index) => page.screenshot({ path: join(PICTURES, `failed: ${t.name.slice(0, 80)}, ${name} ${index}.png`) }))
        )
      }
      await context.close()
      if (wrong.length > 0) throw new Error(`${name}'s page:\n${wrong.join('\n')}`)
    })
    const page = await context.newPage()
    await page.goto(`${url}/desk?as=${name}`)
    await page.getByRole('heading', { level: 1, name: 'Editions' }).waitFor()
    return page
  }

  async function edition(title: string, articles: number[] = []): Promise<string> {
    const { edition } = await client('maker').editions.create('daily', {
      title: [{ value: title }],
      field_key: [{ value: title.toLowerCase().replaceAll(/\W+/g, '-') }],
      field_publisher_edition_type: [{ value: 'daily' }],
      field_articles: articles.map((id) => ({ target_id: id }))
    })
    return String(edition['id']![0]!['value'])
  }

  return { url, cms, cmsUrl: CMS_URL, browser, stop, client, seat, edition }
}

/** Opens an edition in a page, and waits until its lock board is live. */
export async function openEdition(page: Page, id: string, title: string): Promise<void> {
  await page.goto(`${page.url().split('#')[0]}#/editions/${id}`)
  await page.getByRole('heading', { level: 1, name: title }).waitFor()
  await page.getByText('live', { exact: true }).waitFor()
}

/** What the sample site's articles are called. */
const titles = new Map(
  newspaper()
    .entities.filter(({ type }) => type === 'node--article')
    .map(({ id, fields }) => [id, String(fields!['title'])])
)
export const articleOf = (id: number): string => titles.get(id)!

/** A field of an edition, by what it is called. */
export const fieldOf = (page: Page, label: string): Locator => page.getByRole('textbox', { name: new RegExp(`^${label}`) })

/** The rows of the list of editions. */
export const rows = (page: Page): Locator => page.getByRole('list', { name: 'Editions found' }).getByRole('listitem')

export const button = (page: Page | Locator, name: string | RegExp): Locator => page.getByRole('button', { name })

/** What a page's browser has on its disk: the texts, in their alphabetical order. */
export const textsOnDisk = (page: Page): Promise<string[]> =>
  page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('quoin-desk')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const texts = opening.result.transaction('texts').objectStore('texts').getAll()
      texts.onsuccess = () => {
        opening.result.close()
        resolve(texts.result.map(({ payload }) => payload).sort())
      }
    }
  })`)

/** Presses as a hand does, for a while. */
export const press = (what: Locator, options: Parameters<Locator['click']>[0] = {}): Promise<void> =>
  what.click({ delay: PRESS_MS, ...options })

/** Drags one thing onto the upper part of another, or its lower part, as a hand does. */
export async function drag(from: Locator, to: Locator, delay = PRESS_MS, part: 'upper' | 'lower' = 'upper'): Promise<void> {
  const { mouse } = from.page()
  await from.hover()
  await mouse.down()
  await from.page().waitForTimeout(delay)
  const { x, y, width, height } = (await to.boundingBox())!
  await mouse.move(x + width / 2, y + height * (part === 'upper' ? 0.2 : 0.8), { steps: 3 })
  await mouse.up()
}

/** Waits until it is there to be seen. */
export async function shows(what: Locator): Promise<void> {
  await what
    .first()
    .waitFor({ state: 'visible' })
    .catch(async (error: Error) => {
      throw new Error(`${error.message}\nThe page says:\n${await what.page().locator('body').innerText().catch(String)}`)
    })
}

/** Waits until it is not to be seen any more. */
export async function hides(what: Locator): Promise<void> {
  await what.first().waitFor({ state: 'hidden' })
}

/** Waits until something holds. */
export async function until(holds: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds());) {
    if (Date.now() > deadline) throw new Error(`never came: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
