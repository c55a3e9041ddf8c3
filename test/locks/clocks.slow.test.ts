import { existsSync, globSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runNode, START } from '../app/fixtures/processes.ts'
import { startEngine } from './fixtures/engines.ts'

// Debian's package libfaketime.
const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')

const LEASE_SECONDS = 3
/** How far the instances' clocks are from that of the store, in seconds. */
const SKEWS = [40, 0, -40]
/** The offset is known to half a second, and a lease ends at a whole one. */
const TOLERANCE_MS = 1500
const ROUNDS_MS = 12_000

interface Instance {
  address: string
  log: () => string
}

async function start(t: Test, endpoint: string, skew: number): Promise<Instance> {
  const { says, output } = runNode(t, START, {
    env: {
      LD_PRELOAD: library,
      FAKETIME: `${skew < 0 ? '' : '+'}${skew}s`,
      DONT_FAKE_MONOTONIC: '1',
      PORT: '0',
      ENVIRONMENT: 'test',
      CMS_URL: 'http://127.0.0.1:9',
      DYNAMODB_ENDPOINT: endpoint,
      LOCK_LEASE_SECONDS: String(LEASE_SECONDS)
    }
  })
  const [, address] = await says(/Server listening at (http:\/\/127\.0\.0\.1:\d+)/)
  return { address: address!, log: () => output().stdout }
}

interface Acquisition {
  uid: string
  sentAt: number
  doneAt: number
  expiresAt: number
}

t.test(
  'instances whose clocks are 40 seconds apart never give a field to two editors',
  { skip: existsSync(library ?? '') ? false : 'libfaketime is not here (apt-get install libfaketime)' },
  async (t) => {
    const { endpoint } = await startEngine(t, 'dynalite')
    const instances = await Promise.all(SKEWS.map((skew) => start(t, endpoint, skew)))
    const acquisitions: Acquisition[] = []
    const end = Date.now() + ROUNDS_MS

    /** Tries to lock the field at one instance after the other; who has it lets the lease run out. */
    async function editor(uid: string, turn: number): Promise<void> {
      for (; Date.now() < end; turn++) {
        const sentAt = Date.now()
        const reply = await fetch(`${instances[turn % instances.length]!.address}/api/cloud/data-state/node/1`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ fieldName: 'title', userData: { uid }, payload: uid })
        })
        const expiresAt = Number(reply.headers.get('lock-expires')) * 1000
        if (reply.status === 200) {
          acquisitions.push({ uid, sentAt, doneAt: Date.now(), expiresAt })
          t.ok(
            Math.abs(expiresAt - sentAt - LEASE_SECONDS * 1000) < TOLERANCE_MS + Date.now() - sentAt,
            `the lease ends in ${expiresAt - Date.now()} ms`
          )
          await sleep(expiresAt - Date.now())
        } else {
          t.equal(reply.status, 423)
        }
        await sleep(50)
      }
    }

    await Promise.all(['anna', 'ben', 'carla'].map(editor))
    const doubles = acquisitions.flatMap((first) =>
      acquisitions.filter(
        ({ uid, sentAt, doneAt }) => uid !== first.uid && sentAt > first.doneAt && doneAt < first.expiresAt - TOLERANCE_MS
      )
    )
    t.strictSame(doubles, [])
    t.ok(acquisitions.length >= 2, `${acquisitions.length} acquisitions`)
    t.ok(new Set(acquisitions.map(({ uid }) => uid)).size > 1, 'the field changed hands')

    for (const [index, skew] of SKEWS.entries()) {
      const { store } = (
        (await (await fetch(`${instances[index]!.address}/health/ready`)).json()) as {
          dependencies: { store: { status: string; message?: string } }
        }
      ).dependencies
      t.equal(store.status, 'ok')
      if (skew === 0) t.equal(store.message, undefined)
      else {
        t.match(
          store.message,
          skew > 0
            ? /^this machine's clock is (?:39|40)\.\d s ahead of the store's/
            : /^this machine's clock is (?:39|40)\.\d s behind the store's/
        )
      }
      t.equal(/this machine's clock is/.test(instances[index]!.log()), skew !== 0, 'the log says it')
    }
  }
)
