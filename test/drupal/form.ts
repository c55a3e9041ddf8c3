import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { createClient, type Client } from '../../packages/client/src/client.ts'
import { DEV, emptyDirectory, runNode } from '../app/fixtures/processes.ts'
import { startFront } from '../fixtures/front.ts'
import { enableModule } from './module.ts'
import { script } from './php.ts'
import { startSite, type Site } from './site.ts'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/**
 * How long a page may take to show what it should, in milliseconds. After a failure the form asks Quoin again within 30
 * seconds (packages/client/src/later.ts).
 */
const PATIENCE_MS = 90_000

/** The content model of form-site.php. */
const MODEL = {
  entityType: 'node',
  bundleEntityType: 'node_type',
  keys: { id: 'nid', revision: 'vid', owner: 'uid' },
  fields: { key: 'field_key', editionType: null, articles: ['field_stories'] },
  bundles: { issue: 'Issue' },
  references: { uid: 'user', revision_uid: 'user' },
  timestampFields: ['created', 'changed'],
  timeZone: 'Europe/Berlin',
  lists: {}
}

/** A Drupal with an edit form of nodes, and Quoin with its desk. */
export interface FormSite {
  site: Site
  browser: Browser
  /** The node, as its locks name it. */
  node: { type: string; id: string }
  quoin: string
  /** Ends Quoin; what it gives starts another at the same address, with the same locks. */
  stopQuoin: () => Promise<() => Promise<void>>
  /** A client of Quoin, for who has no browser. */
  locks: (uid: string, name: string) => Client['locks']
  /** The texts in the node's locks, by field and user. */
  texts: () => Promise<Record<string, string | undefined>>
  /** The edit form as an account of Drupal has it, in a browser of its own. */
  form: (t: Test, account: string, options?: BrowserContextOptions) => Promise<Page>
  /** The desk, with the node open. */
  desk: (t: Test, name: string) => Promise<Page>
  /** Brings the content back, and leaves no lock and no draft. */
  reset: () => Promise<void>
}

export interface FormSiteOptions {
  /** Of Quoin, beside those of the site. */
  env?: (drupal: string) => Record<string, string>
  /** Of `$settings['quoin']`, beside the addresses of Quoin. */
  settings?: Record<string, unknown>
  /** Whether browsers reach Drupal and Quoin on one host, Quoin below /quoin. */
  isShared?: boolean
  /** The credentials of who has no browser. */
  headersOf?: (name: string, site: Site) => Record<string, string> | Promise<Record<string, string>>
}

/** Starts Drupal with the module, and Quoin before it; all ends with the test. */
export async function startFormSite(t: Test, options: FormSiteOptions = {}): Promise<FormSite> {
  const { env = () => ({}), settings = {}, isShared = false, headersOf } = options
  if (!existsSync(CHROMIUM)) throw new Error(`There is no ${CHROMIUM}: run test/e2e/install-chromium.sh, or set CHROMIUM`)
  const site = await startSite()
  t.teardown(site.stop)
  const id = await site.php(`return require '${script('form-site.php')}';`)
  const cwd = emptyDirectory(t)
  const model = join(cwd, 'model.json')
  writeFileSync(model, JSON.stringify(MODEL))
  async function start(PORT: string) {
    const running = runNode(t, DEV, {
      cwd,
      env: {
        PORT,
        LOG_LEVEL: 'warn',
        CMS_URL: site.url,
        CMS_AUTH: 'session',
        CMS_USER: 'editor',
        CMS_PASSWORD: 'editor',
        CONTENT_MODEL: model,
        CORS_ORIGINS: site.url,
        EVENTS_POLL_MS: '100',
        LOCK_LEASE_SECONDS: '0',
        ...env(site.url)
      }
    })
    return { ...running, url: (await running.says(/Quoin listens on (\S+)/))[1]! }
  }
  let running = await start('0')
  const quoin = running.url
  await enableModule(site, { public_url: isShared ? '/quoin' : quoin, url: quoin, ...settings })
  const url = isShared ? await sharedHost(t, site.url, quoin) : site.url
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  t.teardown(() => browser.close())
  const node = { type: 'node', id }
  const locks = (uid: string, name: string) =>
    createClient({ url: quoin, ...(headersOf ? { headers: () => headersOf(name, site) } : { user: { uid, name } }) }).locks

  async function open(t: Test, options: BrowserContextOptions = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options })
    context.setDefaultTimeout(PATIENCE_MS)
    const errors: string[] = []
    context.on('weberror', (error) => errors.push(String(error.error().stack)))
    t.teardown(async () => {
      await context.close()
      if (errors.length > 0) throw new Error(errors.join('\n'))
    })
    return context.newPage()
  }

  return {
    site,
    browser,
    node,
    quoin,
    locks,
    async stopQuoin() {
      running.child.kill('SIGTERM')
      await running.ended
      return async () => {
        running = await start(new URL(quoin).port)
      }
    },
    async texts() {
      const present = await locks('3', 'editor2').list(node)
      return Object.fromEntries(present.map(({ fieldName, userData, payload }) => [`${fieldName} ${userData.name}`, payload]))
    },
    async form(t, account, options) {
      const page = await open(t, options)
      await page.goto(`${url}/user/login`)
      await page.locator('[name=name]').fill(account)
      await page.locator('[name=pass]').fill(account)
      await page.locator('#user-login-form [type=submit]').click()
      await page.waitForURL(/\/user\/\d+/)
      await page.goto(`${url}/node/${id}/edit`)
      return page
    },
    async desk(t, name) {
      const page = await open(t)
      await page.goto(`${quoin}/desk?as=${name}#/editions/${id}`)
      await page.getByText('live', { exact: true }).waitFor()
      return page
    },
    async reset() {
      for (const lock of await locks('3', 'editor2').list(node)) {
        const { uid } = lock.userData
        await locks(uid, '').release({ ...node, fieldName: lock.fieldName })
      }
      for (const uid of ['2', '3', 'ben', 'carla']) await locks(uid, '').discard(node)
    }
  }
}

/** The address at which Drupal and Quoin are on one host; closed when the test ends. */
function sharedHost(t: Test, drupal: string, quoin: string): Promise<string> {
  return startFront(t, (path) => (path.startsWith('/quoin/') ? quoin + path.slice('/quoin'.length) : drupal + path))
}

/** A control of the form, by its name. */
export const control = (page: Page, name: string): Locator => page.locator(`[name="${name}"]`)

/** What is said at a field of the form. */
export const notes = (page: Page, field: string): Locator => page.locator(`[data-quoin-field="${field}"] > .quoin-notes`)

/** The line above the form. */
export const line = (page: Page): Locator => page.locator('.quoin-board')

export const press = (page: Page, field: string, name: string): Promise<void> =>
  notes(page, field)
    .getByRole('button', { name: new RegExp(`^${name}`) })
    .click()

/** Waits until something holds. */
export async function until(holds: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; !(await holds());) {
    if (Date.now() > deadline) throw new Error(`never came: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Waits until an element says something. */
export async function says(what: Locator, text: string | RegExp): Promise<void> {
  await what
    .filter({ hasText: text })
    .first()
    .waitFor()
    .catch(async (error: Error) => {
      throw new Error(`${error.message}\nIt says: ${await what.allInnerTexts()}`)
    })
}
