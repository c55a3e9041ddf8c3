import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  help: string
  nodes: Array<{ target: string[]; failureSummary: string }>
}

/** Fails on what axe finds wrong with a page, in any of its rules for WCAG 2.2 AA and best practice. */
export async function accessible(t: Test, page: Page, what: string): Promise<void> {
  // Evaluated by the debugger, so the page's Content-Security-Policy stays as it is.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(`${AXE}; undefined`)
  const { violations, passes } = (await page.evaluate('axe.run()')) as { violations: Finding[]; passes: Finding[] }
  t.ok(passes.length > 15, `${passes.length} of its rules apply`)
  t.strictSame(
    violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target.join(' ')}: ${failureSummary}`)
    ),
    [],
    `axe finds nothing wrong with ${what}`
  )
}

/**
 * Accessible, and no wider than its window, in a window of 320 px, at 200 %, in the dark and in forced colours. Leaves the page
 * as the tests open it.
 */
export async function accessibleAnywhere(t: Test, page: Page, what: string): Promise<void> {
  const usual = { viewport: { width: 1280, height: 900 }, media: { colorScheme: 'light', forcedColors: 'none' } } as const
  const views = {
    narrow: { viewport: { width: 320, height: 900 } },
    'at 200 %': { viewport: { width: 640, height: 450 } },
    'in the dark': { media: { colorScheme: 'dark' } },
    'in forced colours': { media: { forcedColors: 'active' } }
  } as const
  for (const [name, view] of [...Object.entries(views), ['as usual', {}]] as Array<
    [string, Partial<Record<'viewport' | 'media', object>>]
  >) {
    await page.setViewportSize({ ...usual.viewport, ...view.viewport })
    await page.emulateMedia({ ...usual.media, ...view.media })
    await accessible(t, page, `${what}, ${name}`)
    await fits(t, page, `${what}, ${name}`)
  }
}

/** No page is wider than its window. */
export async function fits(t: Test, page: Page, what: string): Promise<void> {
  t.equal(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    true,
    `${what} fits into the window`
  )
}
