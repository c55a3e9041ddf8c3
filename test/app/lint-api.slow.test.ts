import t from 'tap'
import { documents, lint } from './fixtures/redocly.ts'

t.test('the OpenAPI document passes the rules that Redocly recommends, however callers are known', async (t) => {
  const { isClean, report } = await lint(await documents())
  t.ok(isClean, report)
})

t.test('and they find what is wrong', async (t) => {
  const { none } = (await documents()) as { none: { paths: Record<string, { get: { operationId: string } }> } }
  none.paths['/health/live']!.get.operationId = none.paths['/health/ready']!.get.operationId
  t.match(await lint({ none }), { isClean: false, report: /operation-operationId-unique/ })
})
