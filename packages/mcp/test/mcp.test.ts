import t from 'tap'
import { build } from '../../../test/helper.ts'
import { openNewsroom, planner, type Era } from './newsroom.ts'

for (const era of ['2026-07-28', 'legacy'] satisfies Era[]) {
  t.test(`a client of the era ${era} lists the tools and calls one`, async (t) => {
    const { connect, call } = await openNewsroom(t)
    const client = await connect(planner, era)
    const { tools } = await client.listTools()
    t.ok(tools.some(({ name }) => name === 'read_edition'))
    t.ok(JSON.stringify(tools).length < 12_000, 'the list stays short')
    const { isError, body } = await call('read_edition', { id: '1' }, { era })
    t.notOk(isError)
    t.match(body.tag, /^"/)
    t.ok(body.fields.title)
  })
}

t.test('without MCP=on there is nothing at /mcp', async (t) => {
  const app = await build(t)
  t.equal((await app.inject({ method: 'POST', url: '/mcp', body: {} })).statusCode, 404)
})
