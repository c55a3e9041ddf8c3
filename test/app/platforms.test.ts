import { execFile } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { emptyDirectory, ROOT } from './fixtures/processes.ts'

for (const [platform, arch] of [['darwin', 'arm64'], ['linux', 'arm64']]) {
  t.test(`npm ci installs on ${platform} ${arch}`, async (t) => {
    const directory = emptyDirectory(t)
    for (const name of ['package.json', 'package-lock.json', 'packages/linux-x64/package.json']) cpSync(join(ROOT, name), join(directory, name))
    const override = join(directory, 'platform.cjs')
    writeFileSync(override, `for (const [name, value] of Object.entries(${JSON.stringify({ platform, arch })})) Object.defineProperty(process, name, { value })`)
    const options = { cwd: directory, env: { ...process.env, NODE_OPTIONS: `--require ${override}` } }
    const { stdout } = await promisify(execFile)('npm', ['ci', '--dry-run', '--ignore-scripts', '--offline', '--no-audit', '--no-fund'], options)
    t.match(stdout, /^add fastify 5\./m)
    t.notMatch(stdout, /^add (?!@quoin\/)\S*linux-x64/m, 'without what exists for Linux on x64 alone')
  })
}
