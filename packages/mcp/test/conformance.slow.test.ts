import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'
import { buildLogged } from '../../../test/helper.ts'
import { mountMcp } from '../server/mount.ts'
import { everything } from './conformance/everything.ts'

const SUITE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

/** The servers that the suite calls: that of Quoin's tools, and one with everything that it asks for, through the same mount. */
const SERVERS: Record<string, (t: Test) => Promise<string>> = {
  real: async (t) => listening((await buildLogged(t, { MCP: 'on' })).app),
  everything: async (t) =>
    listening(
      (
        await buildLogged(
          t,
          {},
          {
            prepare: (fastify) => fastify.register(async (scope) => mountMcp(scope, { factory: everything, corsOrigins: [] }))
          }
        )
      ).app
    )
}

async function listening(app: FastifyInstance): Promise<string> {
  return `${await app.listen({ host: '127.0.0.1', port: 0 })}/mcp`
}

/** Runs all that a revision requires. */
async function run(t: Test, url: string, revision: string, baseline: string): Promise<{ code: number; output: string }> {
  const expected = existsSync(baseline) ? ['--expected-failures', baseline] : []
  const suite = spawn(process.execPath, [SUITE, 'server', '--url', url, '--requirements', revision, ...expected], {
    cwd: emptyDirectory(t),
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => suite.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(suite.stdout), once(suite, 'exit')])
  return { code, output }
}

for (const [name, open] of Object.entries(SERVERS)) {
  for (const revision of ['2026-07-28', '2025-11-25']) {
    t.test(`${name}: of what ${revision} requires fails what the baseline gives a reason for, and nothing else`, async (t) => {
      const baseline = join(import.meta.dirname, `conformance/${name}-${revision}.yml`)
      const { code, output } = await run(t, await open(t), revision, baseline)
      t.match(output, /^✓ dns-rebinding-protection: 2 passed, 0 failed/m, 'it ran')
      t.equal(code, 0, output.slice(output.indexOf('=== SUMMARY')))
    })
  }
}
