import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openLarge, SIZE } from './fixtures/large-answer.ts'

const STALLED_MS = 2000

t.test('a large answer counts and comes whole, however slow the caller is', async (t) => {
  const { socket, isTaken, until } = await openLarge(t, STALLED_MS)
  const began = performance.now()
  let length = 0
  for await (const chunk of socket) {
    length += chunk.length
    if (performance.now() - began > 1.5 * STALLED_MS) continue
    t.ok(isTaken())
    await sleep(STALLED_MS / 40)
  }
  t.ok(length > SIZE, 'it came whole')
  await until(false)
})
