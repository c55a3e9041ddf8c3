import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { startFaulty, type Fault } from './fixtures/faulty.ts'
import { runNode, START } from './fixtures/processes.ts'

/** How long the load lasts, in seconds; `SOAK_SECONDS=600` for a real soak (and `tap --timeout=900`). */
const SECONDS = Number(process.env['SOAK_SECONDS'] ?? 40)

const CMS_TIMEOUT_MS = 1000
/** Each kind of worker so many times, each with a request every PAUSE_MS at most. */
const WORKERS = 6
const PAUSE_MS = 60

/** A soak of five minutes comes to 400 MB within two, and stays there: a shorter one may still be on its way. */
const PLATEAU_MB = 450

/** One after the other, with good times between them that last a little longer than the circuit breaker rests. */
const CMS_FAULTS: Fault[] = ['reset', 'hang', 500, 'cut', 503, 'slow', 502, 'html 200']
const STORE_FAULTS: Fault[] = ['reset', 'hang', 'cut']
const FAULT_MS = 2500
const WELL_MS = 5500

t.test(`under a steady load for ${SECONDS} s, with faults coming and going, nothing is lost and nothing piles up`, async (t) => {
  const engine = await startEngine(t, 'dynalite')
  const content = newspaper()
  const sample = createCms({ content })
  t.teardown(() => sample.close())
  const cms = await startFaulty(t, await sample.listen())
  const store = await startFaulty(t, engine.endpoint)
  const env = {
    ENVIRONMENT: 'soak',
    PORT: '0',
    CMS_URL: cms.url,
    DYNAMODB_ENDPOINT: store.url,
    AWS_ACCESS_KEY_ID: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    CMS_TIMEOUT_MS: String(CMS_TIMEOUT_MS)
  }
  const { child, ended, output, says } = runNode(t, START, { env })
  const [, address] = await says(/"msg":"Server listening at (http:\/\/127\.0\.0\.1:\d+)"/)

  const counts: Record<string, number> = {}
  const wrong: string[] = []
  let slowest = 0
  let copies = 0
  const end = Date.now() + SECONDS * 1000

  async function call(
    half: 'locks' | 'editions',
    method: string,
    path: string,
    { as = 'editor', body }: { as?: string; body?: object } = {}
  ): Promise<{ status: number; body: any }> {
    const start = performance.now()
    const reply = await fetch(address + path, {
      method,
      headers: { ...basic(as), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    const answer = (await reply.json()) as any
    slowest = Math.max(slowest, performance.now() - start)
    const { status } = reply
    counts[`${half} ${status}`] = (counts[`${half} ${status}`] ?? 0) + 1
    if (reply.headers.has('age')) copies++
    const known = half === 'locks' ? [200, 503] : [200, 502, 503, 504]
    if (!known.includes(status)) wrong.push(`${method} ${path}: ${status} ${JSON.stringify(answer).slice(0, 200)}`)
    return { status, body: answer }
  }

  /** Holds one field of one entity and writes into it all the time; what was acknowledged has to be there. */
  async function editor(id: number): Promise<void> {
    const path = `/api/cloud/data-state/node/${id}`
    // A write that failed may have been made all the same.
    let possible: Array<string | undefined> = [undefined]
    for (let count = 1; Date.now() < end; count++) {
      const releases = count % 10 === 0
      const text = releases ? undefined : `text ${count}`
      const { status } = releases
        ? await call('locks', 'DELETE', `${path}?uid=${id}`)
        : await call('locks', count % 3 ? 'POST' : 'PUT', path, { body: { fieldName: 'title', userData: { uid: id }, payload: text } })
      possible = status === 200 ? [text] : [...possible, text]
      const { status: seen, body } = await call('locks', 'GET', path)
      if (seen === 200 && !possible.includes(body.data.Items[0]?.payload)) {
        wrong.push(`lost lock: ${body.data.Items[0]?.payload} is none of ${possible}`)
      }
      await sleep(PAUSE_MS)
    }
  }

  /** Saves one edition again and again; what it reads is never older than what it saved, be it a copy. */
  async function publisher(id: number): Promise<void> {
    let saved = 0
    for (let count = 1; Date.now() < end; count++) {
      const { status } = await call('editions', 'POST', `/api/collection/${id}`, { body: { title: [{ value: `Save ${count}` }] } })
      if (status === 200) saved = count
      const { status: seen, body } = await call('editions', 'GET', `/api/collection/${id}`)
      if (seen === 200 && saved > 0 && Number(body.title[0].value.split(' ')[1]) < saved) {
        wrong.push(`${body.title[0].value} was read after save ${saved}`)
      }
      await sleep(PAUSE_MS)
    }
  }

  async function reader(as: string, urls: string[]): Promise<void> {
    for (let count = 0; Date.now() < end; count++) {
      await call('editions', 'GET', urls[count % urls.length]!, { as })
      await sleep(PAUSE_MS)
    }
  }

  async function weather(place: typeof cms, faults: Fault[]): Promise<void> {
    for (let count = 0; Date.now() < end; count++) {
      await sleep(WELL_MS)
      place.fault = faults[count % faults.length]!
      await sleep(FAULT_MS)
      place.fault = 'well'
    }
  }

  const samples: Array<{ second: number; rss: number; descriptors: number }> = []
  const sampleNow = () => ({
    second: Math.round(SECONDS - (end - Date.now()) / 1000),
    rss: memoryOf(child.pid!),
    descriptors: readdirSync(`/proc/${child.pid}/fd`).length
  })
  async function watch(): Promise<void> {
    for (; Date.now() < end; await sleep(1000)) samples.push(sampleNow())
  }

  const editions = editionsOf(content).filter(({ published }) => published)
  const urls = [
    '/api/collections/publisher_container?limit=20',
    '/api/collections/daily?q=a&total=1',
    `/api/collection/${editions[20]!.id}`,
    `/api/collection/${editions[21]!.uuid}`,
    '/api/collection/bundles',
    '/api/publisher-edition/bundles'
  ]
  await Promise.all([
    watch(),
    weather(cms, CMS_FAULTS),
    weather(store, STORE_FAULTS),
    ...Array.from({ length: WORKERS }, (_, index) => editor(index + 1)),
    ...Array.from({ length: WORKERS }, (_, index) => publisher(editions[index]!.id)),
    ...Array.from({ length: WORKERS }, (_, index) => reader(index % 2 ? 'editor' : 'reader', urls))
  ])

  cms.fault = store.fault = 'well'
  // The circuit breaker rests, and connections nobody uses are given up.
  await sleep(6000)
  for (const url of urls) t.equal((await call('editions', 'GET', url)).status, 200, `afterwards ${url} works`)
  await sleep(6000)
  const last = sampleNow()
  const quarter = (from: number) => median(samples.slice(samples.length * from, samples.length * (from + 0.25)).map(({ rss }) => rss))
  const [early, late] = [quarter(0.25), quarter(0.75)]
  const busy = samples.findLast(({ second }) => second <= WELL_MS / 1000)!.descriptors
  const log = output().stdout
  const step = Math.max(1, Math.floor(samples.length / 12))
  t.comment(
    `resident memory in MB: ${samples
      .filter((_, index) => index % step === 0)
      .map(({ second, rss }) => `${second} s ${rss}`)
      .join(', ')}; second quarter ${early}, last ${late}, at rest ${last.rss}`
  )
  t.comment(
    `descriptors: ${samples[0]!.descriptors} at first, ${busy} at work before the first fault, ${Math.max(...samples.map(({ descriptors }) => descriptors))} at most, ${last.descriptors} at rest`
  )
  t.comment(
    `requests: ${JSON.stringify(counts)}, ${copies} of them answered with copies; slowest ${Math.round(slowest)} ms; met faults: CMS ${cms.met}, store ${store.met}; breaker opened ${log.match(/circuit breaker before the CMS is open/g)?.length ?? 0} times`
  )

  t.strictSame(wrong, [], 'no lock lost, no save undone, no other status')
  t.ok(counts['locks 200']! > SECONDS && counts['editions 200']! > SECONDS && copies > 0, 'there was a load, and there were copies')
  t.notMatch(log, /"code":"INTERNAL"|"level":60/)
  t.ok(late <= Math.max(early * 1.2 + 20, PLATEAU_MB), `memory is flat: ${early} MB, then ${late} MB`)
  t.ok(last.descriptors <= busy + 10, `descriptors are given back: ${busy} at work before the first fault, ${last.descriptors} at rest`)
  t.ok(slowest < 10_000, `nobody waits for ever: ${Math.round(slowest)} ms`)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.equal(output().stderr, '')
})

/** Resident memory of a process in MB. Source: proc(5). */
function memoryOf(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024)
}

function median(numbers: number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!
}
