import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { compareReadOnly } from './read-only.ts'

// `npm run test:drupal`: makes sure that a Drupal is there and runs the suites on it. With --read-only it compares
// against the site that CMS_URL names, and changes nothing there. MODEL_OF=editor lets the suites take the content
// model that `npm run model` writes for that user.
if (process.argv.includes('--read-only')) {
  process.exitCode = (await compareReadOnly(process.env)) ? 0 : 1
} else {
  const run = (command: string, args: string[]) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1
  process.exitCode =
    run(process.execPath, [new URL('prepare.ts', import.meta.url).pathname]) ||
    run('tap', ['--disable-coverage', '--timeout=900', '--jobs=1', ...globSync('test/drupal/*.test.ts').sort()])
}
