import t from 'tap'
import { fuzz } from './fixtures/fuzz.ts'

t.test('1 000 generated requests are answered as documented, and none with a failure of the service', async (t) => {
  const { requests, statuses } = await fuzz(t, 1000)
  t.ok(requests >= 1000)
  for (const status of [200, 400, 404, 405, 415, 422]) t.ok(statuses.has(status), `the requests were of all kinds: ${status}`)
  t.ok(statuses.get(200)! > 100, 'many of them right')
})
