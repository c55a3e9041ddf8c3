import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runNode, START, ROOT } from '../app/fixtures/processes.ts'
import { startHostileCms, JSONAPI } from './hostile-cms.ts'
import { uuidOf } from './large-site.ts'
import { daily } from './scripted-cms.ts'
import { basic } from './site.ts'
import { BEYOND, WORST } from './worst-answers.ts'

const HEAP_MIB = 384

/**
 * Three times the longest turn of the event loop that was measured, in milliseconds of CPU time: a second, where both cores
 * were busy and V8 compiled the loop over the bytes late. Quadratic work takes more.
 */
const LONGEST_MS = 3000

/** Quoin as a process of its own, with a small heap, before a CMS that answers each read of an edition so. */
async function start(t: Test) {
  const cms = await startHostileCms(t)
  const quoin = runNode(t, [`--max-old-space-size=${HEAP_MIB}`, '--import', `${ROOT}/test/app/fixtures/blocks.ts`, ...START], {
    env: {
      ENVIRONMENT: 'test',
      CMS_URL: cms.url,
      DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
      PORT: '0',
      CMS_TIMEOUT_MS: '60000',
      staleSeconds: '0'
    }
  })
  const [url = ''] = await quoin.says(/http:\/\/[\d.]+:\d+/)
  const get = async (path: string) => {
    const answer = await fetch(url + path, { headers: basic('editor') }).catch((error) => error as Error)
    if (answer instanceof Error) return { status: 0, message: answer.message }
    const text = await answer.text()
    return { status: answer.status, message: answer.status === 200 ? '' : (JSON.parse(text).message as string) }
  }
  const reports = () => [...quoin.output().stdout.matchAll(/^block (\d+) heap (\d+) peak (\d+)$/gm)]
  /** What it took since this was called last. */
  const took = async () => {
    const before = reports().length
    quoin.child.kill('SIGWINCH')
    for (const end = Date.now() + 30_000; reports().length === before && Date.now() < end;) await sleep(5)
    const [, block, heap, peak] = reports().at(-1)!.map(Number)
    return { block: block!, heap: heap!, peak: peak! }
  }
  await get('/api/collection/1')
  return { cms, get, took, quoin }
}

t.test(`the worst answers within the limits do not hold or end an instance with a heap of ${HEAP_MIB} MiB`, async (t) => {
  const { cms, get, took, quoin } = await start(t)
  for (const [what, make] of [...Object.entries(WORST), ...Object.entries(BEYOND)]) {
    const text = make()
    cms.behave = ({ path }) => (path.startsWith(`${daily}/`) ? { headers: JSONAPI, body: text } : undefined)
    await took()
    const { status, message } = await get(`/api/collection/${uuidOf(7)}`)
    await sleep(10)
    const { block, heap, peak } = await took()
    t.comment(`${what}: ${(text.length / 1e6).toFixed(1)} MB, ${status}, longest block ${block} ms, heap ${heap} MiB, peak RSS ${peak} MiB`)
    t.equal(status, what in BEYOND ? 502 : 200, `${what}: ${message}`)
    if (what in BEYOND) {
      t.match(message, /^The CMS answered with more than \d+ (?:values|names of members|levels of values: they are nested too deep)$/)
    }
    t.ok(block < LONGEST_MS, `${what}: ${block} ms`)
  }
  const text = WORST['empty lists']!()
  cms.behave = ({ path }) =>
    path.startsWith(`${daily}/`) ? { headers: JSONAPI, body: text.replace(uuidOf(7), path.slice(-36)) } : undefined
  const statuses = await Promise.all(Array.from({ length: 30 }, async (_, index) => (await get(`/api/collection/${uuidOf(index)}`)).status))
  t.ok(
    statuses.every((status) => status === 200 || status === 502 || status === 503),
    String(statuses)
  )
  t.equal((await get('/health/live')).status, 200, quoin.output().stderr.slice(0, 500))
})
