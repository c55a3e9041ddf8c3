import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'

/** What of a package is packed, and what its build reads. */
const PACKED = ['src', 'LICENSE', 'package.json', 'README.md', 'tsconfig.json']

/** Where the examples are, each a page of its own. */
const EXAMPLES = ['packages/react/examples/react-page.tsx', 'packages/vue/examples/vue-page.ts']

/**
 * An empty project into which the client is installed as `npm install` of the packed file does.
 * @param others packages that use the client, such as `react`
 */
export function projectWith(t: Test, others: string[] = []): string {
  const copy = emptyDirectory(t)
  const names = ['client', ...others]
  for (const path of [
    'package.json',
    'tsconfig.json',
    'dev/build-module.ts',
    ...names.flatMap((name) => PACKED.map((path) => `packages/${name}/${path}`))
  ]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const directory = emptyDirectory(t)
  for (const name of names) install(join(copy, 'packages', name), directory)
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  return directory
}

/** Packs a package, and unpacks it where a project looks for it. */
function install(source: string, project: string): void {
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', project], {
    cwd: source,
    encoding: 'utf8',
    stdio: 'pipe'
  })
    .trim()
    .split('\n')
    .at(-1)!
  const target = join(project, 'node_modules/@quoin', basename(source))
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(project, packed), '--strip-components=1', '-C', target])
  rmSync(join(project, packed))
}

/** Puts the examples into a project, and at hand what they import. */
export function addExamples(project: string): string[] {
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
  for (const name of ['react', 'react-dom', 'vue', '@types/react', '@types/react-dom']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  }
  return EXAMPLES.map((path) => {
    const example = join(project, basename(path))
    cpSync(join(ROOT, path), example)
    return example
  })
}
