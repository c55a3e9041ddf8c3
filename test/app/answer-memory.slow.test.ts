import { once } from 'node:events'
import t from 'tap'
import { openLarge, SIZE } from './fixtures/large-answer.ts'
import { readSlowly } from './fixtures/slow-reader.ts'

/** A hundred times the real pace. */
const PACE = { graceMs: 1000, bytesPerSecond: 1024 * 1024 }

t.test('a caller who takes a large answer slowly, but at the least pace, gets it whole', async (t) => {
  const { socket, port, until } = await openLarge(t, PACE)
  socket.destroy()
  const reader = readSlowly(t, port, { path: '/large', bytesPerSecond: 8 * PACE.bytesPerSecond })
  await once(reader.socket, 'close')
  t.ok(reader.taken() > SIZE, `${reader.taken()} bytes`)
  await until(false)
})
