import t from 'tap'
import { bearer, TOKEN, tokenOfTab, withAnswers } from '../page/early-answers.ts'

t.test('what the page has asked for early is handed out once, and asked for again where it failed', async (t) => {
  const asked: Array<[unknown, boolean]> = []
  const { fetch } = globalThis
  t.teardown(() => {
    globalThis.fetch = fetch
  })
  globalThis.fetch = async (address, init) => {
    asked.push([address, init?.signal instanceof AbortSignal])
    return new Response('late')
  }
  const early = new Map([
    ['https://desk.example/quoin/api/one', Promise.resolve(new Response('early'))],
    ['https://desk.example/quoin/api/two', Promise.reject<Response>(new TypeError('gone'))],
    ['https://desk.example/quoin/api/three', Promise.resolve(new Response('early'))]
  ])
  const fetchOnce = withAnswers(early, 'https://desk.example/quoin/desk?as=anna#/editions/1')
  const textOf = async (path: string, init?: RequestInit) => (await fetchOnce(path, init)).text()
  t.strictSame([await textOf('api/one'), await textOf('/quoin/api/one')], ['early', 'late'])
  t.equal(await textOf('api/two', { method: 'GET' }), 'late')
  t.strictSame(
    [await textOf('api/three', { method: 'POST' }), await textOf('api/three')],
    ['late', 'late'],
    'after a write the early answer may be an old one'
  )
  t.equal(await textOf('api/four'), 'late')
  t.strictSame(
    asked,
    ['/quoin/api/one', 'api/two', 'api/three', 'api/three', 'api/four'].map((address) => [address, true]),
    'each ends by itself'
  )
})

t.test('a request has the token of the tab, if there is one', async (t) => {
  const items = new Map([[TOKEN, 'abc']])
  Object.assign(globalThis, { sessionStorage: { getItem: (name: string) => items.get(name) ?? null } })
  t.teardown(() => {
    Reflect.deleteProperty(globalThis, 'sessionStorage')
  })
  t.strictSame(bearer(tokenOfTab()), { authorization: 'Bearer abc' })
  items.clear()
  t.strictSame(bearer(tokenOfTab()), {})
})
