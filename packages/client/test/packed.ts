import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'

/** An empty project into which the client is installed as `npm install` of the packed file does. */
export function projectWith(t: Test): string {
  const copy = emptyDirectory(t)
  for (const path of [
    'package.json',
    'tsconfig.json',
    'packages/client/src',
    ...['LICENSE', 'build.ts', 'package.json', 'README.md', 'tsconfig.json'].map((name) => `packages/client/${name}`)
  ]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const directory = emptyDirectory(t)
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: join(copy, 'packages/client'),
    encoding: 'utf8',
    stdio: 'pipe'
  })
    .trim()
    .split('\n')
    .at(-1)!
  const target = join(directory, 'node_modules/@quoin/client')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(directory, packed), '--strip-components=1', '-C', target])
  rmSync(join(directory, packed))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  return directory
}

/** Puts the examples into a project, and at hand what they import. */
export function addExamples(project: string): string[] {
  cpSync(join(ROOT, 'packages/client/examples'), join(project, 'examples'), { recursive: true })
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
  for (const name of ['react', 'react-dom', 'vue', '@types/react', '@types/react-dom']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  }
  return ['react-page.tsx', 'vue-page.ts'].map((name) => join(project, 'examples', name))
}
