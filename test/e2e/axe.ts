import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding { id: string, help: string, nodes: Array<{ target: string[], failureSummary: string }> }

/** Fails on what axe finds wrong with a page, in any of its rules for WCAG 2.2 AA and best practice. */
export async function accessible (t: Test, page: Page, what: string): Promise<void> {
  // Evaluated by the debugger, so the page's Content-Security-Policy stays as it is.
  if (!await page.evaluate('"axe" in globalThis')) await page.evaluate(`${AXE}; undefined`)
  const { violations, passes } = await page.evaluate('axe.run()') as { violations: Finding[], passes: Finding[] }
  t.ok(passes.length > 20, `${passes.length} of its rules apply`)
  t.strictSame(violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target.join(' ')}: ${failureSummary}`)), [], `axe finds nothing wrong with ${what}`)
}

/** No page is wider than its window. */
export async function fits (t: Test, page: Page, what: string): Promise<void> {
  t.equal(await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'), true, `${what} fits into the window`)
}
