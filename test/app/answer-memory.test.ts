import t from 'tap'
import { openLarge, SIZE } from './fixtures/large-answer.ts'

t.test('a large answer counts until its caller has it', async (t) => {
  const { socket, until } = await openLarge(t, 60_000)
  let length = 0
  socket.on('data', (chunk: Buffer) => { length += chunk.length }).resume()
  await until(false)
  t.ok(length > SIZE / 2, 'what is still on its way is at the system')
})

t.test('the connection of a caller who takes nothing is closed', async (t) => {
  const { until } = await openLarge(t, 200)
  await until(false)
})
