import './without-domains.ts'
import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { mock } from 'node:test'
import t from 'tap'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * Runs test files in this process, one after the other: to start a process for each takes half of the time of `npm test`.
 * The slow ones are left out. Before the tests of a file comes one of its name, which imports it.
 * @param patterns of files, from the root; the files of each by name
 */
export function load(...patterns: string[]): void {
  importNext(patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT, exclude: ['**/*.slow.test.ts'] }).sort()))
}

/** The next import is queued after the tests of this file: tap ends as soon as nothing is queued. A clock that it stopped goes on. */
function importNext([path, ...others]: string[]): void {
  if (path === undefined) return
  t.test(path, async () => {
    mock.timers.reset()
    await import(join(ROOT, path))
    importNext(others)
  })
}
