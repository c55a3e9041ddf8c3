import t from 'tap'
import { fuzz } from './fixtures/fuzz.ts'

t.test('20 000 generated requests are answered as documented, and none with a failure of the service', async (t) => {
  const { requests, statuses } = await fuzz(t, 20_000)
  t.ok(requests >= 20_000)
  for (const status of [200, 201, 304, 400, 404, 405, 412, 415, 422, 423, 431]) t.ok(statuses.has(status), `the requests were of all kinds: ${status}`)
  t.ok(statuses.get(200)! > 2000, 'many of them right')
})
