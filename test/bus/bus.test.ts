import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { createBus, type BusOptions } from '#lib/bus/bus.ts'
import type { Wire } from '#lib/bus/wire.ts'
import { createHub, cuttable, FOREIGN } from './fixtures/hostile-wire.ts'

/** Milliseconds that no test lasts. */
const NEVER = 1_000_000_000

const Word = Type.Object({ word: Type.String() })

/** Waits for something that becomes true. */
async function until(isTrue: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !isTrue();) {
    if (performance.now() > end) throw new Error('it did not come')
    await sleep(2)
  }
}

/** An instance's bus, with what it has heard; closed with the test. */
function join(t: Test, wire: Wire, options: Partial<BusOptions> = {}) {
  const heard: string[] = []
  const changes: boolean[] = []
  const bus = createBus({
    wire,
    onChange: (isUp) => {
      changes.push(isUp)
    },
    ...options
  })
  const tell = bus.topic('words', Word, ({ word }) => {
    heard.push(word)
  })
  t.teardown(bus.close)
  return { bus, tell, heard, changes }
}

type Joined = ReturnType<typeof join>

t.test('a message goes to all other instances, once', async (t) => {
  const hub = createHub()
  const [one, two, three] = [0, 1, 2].map(() => join(t, hub.wire(), { beatMs: NEVER })) as [Joined, Joined, Joined]
  t.equal(one.tell({ word: 'early' }), false, 'not before the bus is up')
  for (const { bus } of [one, two, three]) bus.start()
  await until(() => [one, two, three].every(({ bus }) => bus.isUp()))
  t.equal(one.tell({ word: 'news' }), true)
  t.strictSame([one.heard, two.heard, three.heard], [[], ['news'], ['news']])
  t.ok(one.bus.roundTripMs()! >= 0)
})

t.test('what is foreign, of another version, malformed or too large is ignored and counted', async (t) => {
  const hub = createHub()
  const { bus, heard } = join(t, hub.wire(), { beatMs: NEVER })
  bus.topic('locks', Type.Object({ type: Type.Literal('none') }), () => t.fail('heard'))
  bus.start()
  const before = bus.counts().ignored
  const texts = FOREIGN.filter((text) => !text.includes('"beat"'))
  for (const text of texts) hub.deliver(text)
  hub.deliver(JSON.stringify({ v: 1, from: 'other', topic: 'words', body: { word: 'x'.repeat(10_000_000) } }))
  hub.deliver(JSON.stringify({ v: 1, from: 'other', topic: 'words', body: { word: 7 } }))
  t.equal(bus.counts().ignored - before, texts.length + 2)
  t.strictSame(heard, [])
  hub.deliver(JSON.stringify({ v: 1, from: 'other', topic: 'words', body: { word: 'fine' } }))
  t.strictSame(heard, ['fine'], 'and it goes on')
})

t.test('a listener that fails stops nothing', async (t) => {
  const hub = createHub()
  const [one, two] = [join(t, hub.wire(), { beatMs: NEVER }), join(t, hub.wire(), { beatMs: NEVER })] as const
  two.bus.topic('words', Word, () => {
    throw new RangeError('too deep')
  })
  for (const { bus } of [one, two]) bus.start()
  one.tell({ word: 'news' })
  t.equal(two.bus.counts().ignored, 1)
})

t.test('a message that is too long is not sent, nor one too many', async (t) => {
  const hub = createHub()
  const wire = hub.wire()
  let isFull = false
  const { bus, tell } = join(
    t,
    { ...wire, send: (text) => (isFull && !text.includes('"beat"') ? new Promise(() => {}) : wire.send(text)) },
    { beatMs: NEVER }
  )
  bus.start()
  t.equal(tell({ word: 'x'.repeat(16_384) }), false)
  isFull = true
  const told = Array.from({ length: 1100 }, () => tell({ word: 'x' }))
  const sent = told.filter(Boolean).length
  t.ok(sent > 990 && sent <= 1000, `${sent} are under way`)
  t.equal(bus.counts().lost, 1 + 1100 - sent)
})

t.test('a bus is down as long as it is cut off, and up when its beats come back', async (t) => {
  const hub = createHub()
  const { bus, tell, changes } = join(t, hub.wire(), { beatMs: NEVER })
  let calls = 0
  bus.onChange(() => {
    calls++
  })
  bus.start()
  hub.cut(true)
  t.strictSame([bus.isUp(), bus.roundTripMs(), tell({ word: 'lost' })], [false, undefined, false])
  hub.cut(false)
  await until(() => bus.isUp())
  bus.close()
  t.strictSame(changes, [true, false, true, false])
  t.equal(calls, 4)
})

t.test('a bus that swallows its beats, or takes too long for them, is down', async (t) => {
  const hub = createHub()
  const wire = hub.wire()
  let fate: 'goes' | 'swallowed' | 'slow' = 'goes'
  let received: (text: string) => void
  const { bus } = join(
    t,
    {
      ...wire,
      open(receive, connected) {
        received = receive
        wire.open((text) => {
          if (fate === 'goes') received(text)
          if (fate === 'slow') setTimeout(received, 300, text)
        }, connected)
      }
    },
    { beatMs: 150 }
  )
  bus.start()
  await until(() => bus.isUp())
  for (const each of ['swallowed', 'slow'] as const) {
    fate = each
    await until(() => !bus.isUp())
    fate = 'goes'
    await until(() => bus.isUp())
  }
  t.pass()
})

t.test('a message that was not taken is counted as lost', async (t) => {
  const hub = createHub()
  const wire = hub.wire()
  const { bus, tell } = join(
    t,
    {
      ...wire,
      send: async (text) => {
        if (text.includes('"words"')) throw new Error('full')
        await wire.send(text)
      }
    },
    { beatMs: NEVER }
  )
  bus.start()
  t.equal(tell({ word: 'x' }), true)
  await until(() => bus.counts().lost === 1)
  t.ok(bus.counts().sent >= 1)
})

t.test('an instance that falls silent without a goodbye is missed, until it is heard again', async (t) => {
  const hub = createHub()
  const { wire, cut } = cuttable(hub.wire())
  const counts: number[] = []
  const here = join(t, hub.wire(), {
    beatMs: 30,
    onSilence: (silent) => {
      counts.push(silent)
    }
  })
  const there = join(t, wire, { beatMs: 30 })
  let calls = 0
  here.bus.onChange(() => {
    calls++
  })
  for (const { bus } of [here, there]) bus.start()
  await until(() => here.bus.hearsAll())
  await sleep(200)
  t.strictSame(counts, [])
  for (const times of [1, 2]) {
    cut(true)
    await until(() => here.bus.silent() === 1)
    t.ok(!here.bus.hearsAll())
    cut(false)
    await until(() => here.bus.hearsAll())
    t.equal(counts.length, 2 * times)
  }
  t.ok(calls >= 5, 'listeners are told')
  await there.bus.close()
  await sleep(200)
  t.strictSame(counts, [1, 0, 1, 0], 'one that says goodbye is not missed')
})

t.test('a silent instance is forgotten after a while', async (t) => {
  const hub = createHub()
  const { wire, cut } = cuttable(hub.wire())
  const here = join(t, hub.wire(), { beatMs: 30, forgetMs: 400 })
  const there = join(t, wire, { beatMs: 30 })
  for (const { bus } of [here, there]) bus.start()
  await sleep(200)
  cut(true)
  await until(() => here.bus.silent() === 1)
  await until(() => here.bus.silent() === 0)
  t.pass()
})

t.test('an instance that was cut off itself misses nobody at once', async (t) => {
  const hub = createHub()
  const counts: number[] = []
  const here = join(t, hub.wire(), {
    beatMs: 30,
    onSilence: (silent) => {
      counts.push(silent)
    }
  })
  const there = join(t, hub.wire(), { beatMs: 30 })
  for (const { bus } of [here, there]) bus.start()
  await sleep(200)
  hub.cut(true)
  await sleep(200)
  hub.cut(false)
  await until(() => here.bus.hearsAll())
  await sleep(200)
  t.strictSame(counts, [])
})

t.test('invented beats and goodbyes change nothing, however many there are', async (t) => {
  const hub = createHub()
  const counts: number[] = []
  const { bus } = join(t, hub.wire(), {
    beatMs: 30,
    onSilence: (silent) => {
      counts.push(silent)
    }
  })
  bus.start()
  const say = (from: string, topic: string, body: unknown) => hub.deliver(JSON.stringify({ v: 1, from, topic, body }))
  for (let index = 0; index < 3000; index++) say(`n${index}`, 'beat', 'x')
  for (let index = 0; index < 100; index++) say('heap', 'beat', 'x')
  for (const body of [null, {}, [], 7, 'x'.repeat(1000)]) for (const topic of ['bye', 'beat']) say('odd', topic, body)
  say('never-heard', 'bye', null)
  await sleep(400)
  t.strictSame(counts, [])
  t.ok(bus.isUp())
})
