import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runNode, START } from '../../../test/app/fixtures/processes.ts'

/** Tells of each module of the tools, and of what speaks their protocol, as Node loads it. */
const WATCH = `import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, nextLoad) {
    if (/packages\\/mcp|@modelcontextprotocol/.test(url)) console.error(url)
    return nextLoad(url, context)
  }
})`

/** What a process has loaded of them once it has answered. */
async function loaded(t: Test, MCP: string): Promise<string[]> {
  const service = runNode(t, ['--import', `data:text/javascript,${encodeURIComponent(WATCH)}`, ...START], {
    env: { MCP, ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', PORT: '0' }
  })
  const [, url] = await service.says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
  await fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
  await sleep(100)
  return service.output().stderr.split('\n').filter(Boolean)
}

t.test('with MCP=off a process loads nothing of the tools, nor of their protocol; with MCP=on both', async (t) => {
  const [off, on] = await Promise.all([loaded(t, 'off'), loaded(t, 'on')])
  t.strictSame(off, [])
  for (const part of ['packages/mcp/server/mcp.ts', '@modelcontextprotocol/server/']) {
    t.ok(
      on.some((url) => url.includes(part)),
      part
    )
  }
  t.notOk(
    on.some((url) => url.includes('stdio')),
    'not what speaks it on standard input'
  )
})
