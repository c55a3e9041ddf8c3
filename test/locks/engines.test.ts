import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { freePort } from '../fixtures/free-port.ts'
import { startDynoxide } from './fixtures/dynoxide.ts'
import { needsDynoxide } from './fixtures/engines.ts'

t.test('an engine whose port another process has taken starts on another port', needsDynoxide, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  let chosen = 0
  async function choosePort(): Promise<number> {
    return chosen++ === 0 ? port : freePort()
  }
  const { endpoint, close } = await startDynoxide(choosePort)
  t.teardown(close)
  t.equal(chosen, 2)
  t.ok((await fetch(endpoint)).status > 0, 'it answers')
  await t.rejects(
    startDynoxide(async () => port),
    { message: /^dynoxide did not start: .*port \d+ is already in use/ }
  )
})
