import t, { type Test } from 'tap'
import { openHostile } from './hostile-cms.ts'
import { basic } from './site.ts'

/** A site whose editions have so many reference fields, before a server that takes lines of so many bytes. */
async function openWide(t: Test, relationships: number, longest: number, refuses = (_query: URLSearchParams) => false) {
  const { app, cms } = await openHostile(t, { env: { staleSeconds: '0' } })
  const names = Array.from({ length: relationships }, (_, index) => `field_reference_number_${index}`)
  const target = (index: number) => ({ type: 'node--article', id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` })
  let isWide = true
  cms.behave = async ({ path, method, query }, honest, { request }) => {
    if (refuses(query) || request.url!.length + method.length + ' HTTP/1.1'.length + 1 > longest) {
      return { status: 414, headers: { 'content-type': 'text/html' }, body: '<title>414 Request-URI Too Long</title>' }
    }
    if (!isWide || !path.includes('/publisher_container/daily')) return undefined
    const asked = query.get('include')?.split(',') ?? []
    // The honest site does not have these fields.
    query.delete('include')
    request.url = `${path}?${query}`
    const { status, headers, body } = await honest()
    if (status >= 400) return { status, headers, body: { data: body.data ?? [], ...body } }
    for (const row of [body.data].flat()) {
      row.relationships ??= {}
      for (const [index, name] of names.entries()) {
        row.relationships[name] = { data: { ...target(index), meta: { drupal_internal__target_id: index + 1000 } } }
      }
    }
    body.included = names.flatMap((name, index) =>
      asked.includes(name) ? [{ ...target(index), attributes: { path: { alias: `/alias/${index}` } } }] : []
    )
    return { status, headers, body }
  }
  const ask = (url: string) => app.inject({ method: 'GET', url, headers: basic('editor') })
  return {
    ask,
    cms,
    app,
    heal() {
      isWide = false
    }
  }
}

t.test('editions with more references than a URL can name are read, listed and saved', async (t) => {
  const { ask, app, cms, heal } = await openWide(t, 380, 8190)
  for (let round = 0; round < 2; round++) {
    const { statusCode, body } = await ask('/api/collection/1')
    t.equal(statusCode, 200, body.slice(0, 200))
    t.equal((await ask('/api/collections/daily?limit=3')).statusCode, 200)
  }
  const {
    field_reference_number_0: [first],
    field_reference_number_379: [last]
  } = (await ask('/api/collection/1')).json()
  t.strictSame([first.url, last.url], ['/alias/0', '/alias/379'], 'what one URL does not name is asked for by another')
  const saved = await app.inject({
    method: 'POST',
    url: '/api/collection/1',
    headers: basic('editor'),
    payload: { title: [{ value: 'Other' }] }
  })
  t.equal(saved.statusCode, 200, saved.body.slice(0, 200))
  t.ok(cms.asked.length > 0)
  heal()
  t.equal((await ask('/api/collection/1')).statusCode, 200, 'names that are gone do no harm')
})

t.test('a server that takes shorter URLs than most is asked by shorter ones', async (t) => {
  for (const longest of [4000, 600]) {
    const { ask, app } = await openWide(t, 200, longest)
    t.equal((await ask('/api/collection/1')).statusCode, 200)
    const { statusCode, body } = await ask('/api/collection/2')
    t.equal(statusCode, 200, body.slice(0, 200))
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/api/collection/1',
          headers: basic('editor'),
          payload: { title: [{ value: `Other ${longest}` }] }
        })
      ).statusCode,
      200
    )
  }
})

t.test('where the request for the other references is refused, they have the urls without aliases', async (t) => {
  const { ask } = await openWide(t, 380, 8190, (query) => [...query.keys()].some((name) => name.startsWith('fields[publisher_container')))
  const { statusCode, body } = await ask('/api/collection/1')
  t.equal(statusCode, 200, body.slice(0, 200))
  const {
    field_reference_number_0: [first],
    field_reference_number_379: [last]
  } = JSON.parse(body)
  t.strictSame([first.url, last.url], ['/alias/0', '/node/1379'])
})
