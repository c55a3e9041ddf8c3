import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runNode, START } from '../app/fixtures/processes.ts'
import { startHostileCms } from './hostile-cms.ts'
import { largeSite, uuidOf } from './large-site.ts'
import { basic } from './site.ts'

const HEAP_MIB = 384
/** Quoin as a process of its own, with a small heap, before such a site. */
async function start(t: Test, characters: number, kind: 'text' | 'values') {
  const cms = await startHostileCms(t)
  const quoin = runNode(t, [`--max-old-space-size=${HEAP_MIB}`, ...START], {
    env: { ENVIRONMENT: 'test', CMS_URL: cms.url, DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', PORT: '0', CMS_TIMEOUT_MS: '60000' }
  })
  const [url = ''] = await quoin.says(/http:\/\/[\d.]+:\d+/)
  const get = async (path: string) => {
    const answer = await fetch(url + path, { headers: basic('editor') }).catch((error) => error as Error)
    if (answer instanceof Error) return 'none'
    await answer.arrayBuffer()
    return answer.status
  }
  /** As a caller who does what Retry-After says, thrice: right after the burst the loop may still be late. */
  const getPatiently = async (path: string) => {
    let status = await get(path)
    for (let tries = 1; status === 503 && tries <= 3; tries++) {
      await sleep(1000)
      status = await get(path)
    }
    return status
  }
  await get('/api/collections/daily?limit=1')
  cms.behave = largeSite(2000, characters, { kind })
  return { url, get, getPatiently, quoin }
}

function tally(values: Array<number | string>): string {
  return JSON.stringify(Object.entries(Object.groupBy(values, String)).map(([value, all]) => [value, all!.length]))
}

const lists = (_: number) => '/api/collections/daily?limit=500'
const ownLists = (n: number) => `/api/collections/daily?limit=500&offset=${n}`
const editions = (n: number) => `/api/collection/${uuidOf(n + 1)}`

for (const kind of ['text', 'values'] as const) {
  for (const [what, characters, path, count] of [
    kind === 'text' ? ['lists of 50 MB', 100_000, lists, 20] : ['lists of 50 MB, each of its own rows', 100_000, ownLists, 20],
    ['editions of 4 MB', 4_000_000, editions, 100]
  ] as Array<[what: string, characters: number, path: (n: number) => string, count: number]>) {
    t.test(`${count} ${what} at once (${kind}) do not end an instance with a heap of ${HEAP_MIB} MiB`, async (t) => {
      const { get, getPatiently, quoin } = await start(t, characters, kind)
      const statuses = await Promise.all(Array.from({ length: count }, (_, n) => get(path(n))))
      t.comment(tally(statuses))
      t.ok(statuses.includes(200), 'some are answered')
      t.strictSame(
        statuses.filter((status) => status !== 200 && status !== 503),
        []
      )
      t.equal(await get('/health/live'), 200, quoin.output().stderr.slice(0, 500))
      for (let n = 0; n < 3; n++) t.equal(await getPatiently(path(n)), 200, 'one alone is answered')
      t.equal(await getPatiently('/api/collections/daily?limit=1'), 200)
    })
  }

  t.test(`a list that takes all memory for itself is refused (${kind})`, async (t) => {
    const { get } = await start(t, 230_000, kind)
    t.equal(await get('/api/collections/daily?limit=500'), 413)
    t.equal(await get('/api/collections/daily?limit=200'), 200)
  })
}

t.test(`callers who ask for lists of 23 MB and take nothing of them do not end an instance with a heap of ${HEAP_MIB} MiB`, async (t) => {
  const path = '/api/collections/daily?limit=100'
  const { url, get, quoin } = await start(t, 230_000, 'text')
  const { hostname, port } = new URL(url)
  const sockets = []
  const statuses: string[] = []
  // After ten seconds an answer that nobody takes makes room for others.
  while (sockets.length < 20 && statuses.at(-1) !== '503') {
    const socket = connect(Number(port), hostname)
      .on('error', () => {})
      .setEncoding('latin1')
      .pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${basic('editor').authorization}\r\n\r\n`)
    await once(socket, 'readable')
    sockets.push(socket)
    statuses.push(String(socket.read(12)).slice(9))
  }
  t.comment(tally(statuses))
  t.equal(statuses.at(-1), '503')
  t.equal(await get(path), 503)
  t.equal(await get('/health/live'), 200, quoin.output().stderr.slice(0, 500))
  for (const socket of sockets) socket.destroy()
  for (const end = Date.now() + 10_000; (await get(path)) !== 200 && Date.now() < end;) await sleep(100)
  t.equal(await get(path), 200, 'when they are gone others are answered')
})
