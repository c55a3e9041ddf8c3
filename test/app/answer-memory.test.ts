import { connect, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { createAnswerMemory } from '../../lib/http/answer-memory.ts'
import answerMemory from '../../plugins/answer-memory.ts'

/** More than the system keeps for a connection. */
const SIZE = 30_000_000

async function open (t: Test, stalledMs: number) {
  const memory = createAnswerMemory(SIZE - 1)
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  await fastify.register(answerMemory, { memory, stalledMs })
  fastify.get('/large', async () => 'x'.repeat(SIZE))
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').on('error', () => {}).pause()
  t.teardown(() => socket.destroy())
  socket.write('GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const isTaken = () => {
    const probe = memory.open()
    try {
      probe.take(1)
      return false
    } catch {
      return true
    } finally {
      probe.end()
    }
  }
  const until = async (taken: boolean) => {
    for (const end = Date.now() + 10_000; isTaken() !== taken && Date.now() < end;) await sleep(10)
    t.equal(isTaken(), taken)
  }
  await until(true)
  return { socket, isTaken, until }
}

t.test('a large answer counts until its caller has it, however slow', async (t) => {
  const stalledMs = 1000
  const { socket, isTaken, until } = await open(t, stalledMs)
  const began = performance.now()
  let length = 0
  for await (const chunk of socket) {
    length += chunk.length
    if (performance.now() - began > 1.5 * stalledMs) continue
    t.ok(isTaken())
    await sleep(stalledMs / 20)
  }
  t.ok(length > SIZE, 'it came whole')
  await until(false)
})

t.test('the connection of a caller who takes nothing is closed', async (t) => {
  const { until } = await open(t, 200)
  await until(false)
})
