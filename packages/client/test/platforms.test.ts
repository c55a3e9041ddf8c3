import { getEventListeners } from 'node:events'
import { EventSource } from 'eventsource'
import t, { type Test } from 'tap'
import { createClient } from '../src/client.ts'
import { failureOf } from './fixtures.ts'

const node = { type: 'node', id: '42' }

/** Answers every request with no locks. */
function answering(urls: string[] = []): typeof fetch {
  return async (input) => {
    urls.push(String(input))
    return Response.json({ success: true, data: { Items: [] } })
  }
}

/** Puts something in the place of a member, until the test ends. */
function replace(t: Test, object: object, name: string, value: unknown): void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  Object.defineProperty(object, name, { value, configurable: true, writable: true })
  t.teardown(() => (own ? Object.defineProperty(object, name, own) : Reflect.deleteProperty(object, name)))
}

t.test('the url may have slashes at its end', async (t) => {
  for (const url of ['https://quoin.example', 'https://quoin.example/', 'https://quoin.example/desk//']) {
    const urls: string[] = []
    await createClient({ url, fetch: answering(urls) }).locks.list(node)
    t.strictSame(urls, [`${url.replace(/\/+$/, '')}/api/cloud/data-state/node/42`])
  }
})

t.test('on a server a client without a url says that it needs one, when it is first asked for something', async (t) => {
  for (const url of [undefined, '', '/quoin', '//quoin.example']) {
    const { locks, editions } = createClient({ url, EventSource })
    const missing = { name: 'TypeError', message: 'Give createClient a url: there is no page to take it from' }
    t.match(await failureOf(locks.list(node)), missing, String(url))
    t.match(await failureOf(editions.update(12, {})), missing, 'and it is not sent again')
    t.throws(() => locks.subscribe(node, { locks() {} }), missing)
  }
})

t.test('a page has an address, and so may a fetch of its own', async (t) => {
  const urls: string[] = []
  await createClient({ fetch: answering(urls) }).locks.list(node)
  replace(t, globalThis, 'fetch', answering(urls))
  replace(t, globalThis, 'location', new URL('https://quoin.example/'))
  await createClient().locks.list(node)
  t.strictSame(urls, ['/api/cloud/data-state/node/42', '/api/cloud/data-state/node/42'])
})

t.test('a page without AbortSignal.any and AbortSignal.timeout aborts and waits as others do', async (t) => {
  for (const name of ['any', 'timeout']) replace(t, AbortSignal, name, undefined)
  let aborted: Error | undefined
  const never: typeof fetch = (_input, init) =>
    new Promise((_resolve, reject) =>
      init!.signal!.addEventListener('abort', () => {
        aborted = init!.signal!.reason as Error
        reject(aborted)
      })
    )
  const { locks } = createClient({ url: 'https://quoin.example', fetch: never, timeoutMs: 20 })
  t.match(await failureOf(locks.list(node)), { code: 'UNREACHABLE', cause: { name: 'TimeoutError' } })
  const controller = new AbortController()
  const reason = new Error('not wanted any more')
  const list = failureOf(createClient({ url: 'https://quoin.example', fetch: never }).locks.list(node, controller))
  await new Promise((resolve) => setImmediate(resolve))
  controller.abort(reason)
  t.equal(await list, reason)
  t.equal(aborted, reason, 'the request itself is aborted')
  t.equal(await failureOf(locks.list(node, controller)), reason, 'as with one that is aborted already')
})

t.test('nothing is left of a call on its signal', async (t) => {
  const { signal } = new AbortController()
  const { locks } = createClient({ url: 'https://quoin.example', fetch: answering() })
  for (let count = 0; count < 3; count++) await locks.list(node, { signal })
  t.strictSame(getEventListeners(signal, 'abort'), [])
})

t.test('where there is no window, there is nothing to do when a page closes', async (t) => {
  const { locks } = createClient()
  t.equal(locks.releaseOnPageHide()(), undefined)
})
