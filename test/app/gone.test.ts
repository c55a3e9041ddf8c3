import Fastify from 'fastify'
import t from 'tap'
import { createBacklog } from '#lib/http/backlog.ts'
import { createEventStreams } from '../../routes/event-stream.ts'

t.test('a caller whose connection is gone before the first event is asked for gets none', async (t) => {
  const app = Fastify()
  app.decorate('backlog', createBacklog())
  t.teardown(() => app.close())
  const send = createEventStreams((snapshot) => snapshot)
  const left = Promise.withResolvers<void>()
  let asked = 0
  app.get('/', async (request, reply) => {
    request.raw.socket.destroy()
    return send(request, reply, {
      heartbeatMs: 1000,
      next: async () => {
        asked++
        return undefined
      },
      leave: left.resolve
    })
  })
  await t.rejects(fetch(await app.listen({ host: '127.0.0.1', port: 0 })))
  await left.promise
  t.equal(asked, 0)
})
