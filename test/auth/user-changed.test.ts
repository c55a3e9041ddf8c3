import t from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createClient } from '../../packages/client/src/client.ts'
import { failureOf } from '../../packages/client/test/fixtures.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { bearer, jwtEnv } from './fixtures.ts'

const title = { type: 'publisher_container', id: '60', fieldName: 'title' }
const anna = { uid: '7', name: 'Anna' }
const ben = { uid: '8', name: 'Ben' }
const tokenOf = ({ uid, name }: typeof anna) => bearer({ sub: uid, name })

t.test('nothing that is written for one user is done for another, who is signed in by then', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const app = await build(t, {
    ...jwtEnv(t),
    DYNAMODB_ENDPOINT: endpoint,
    CMS_URL,
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor'
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  let present = anna
  const { locks, editions } = createClient({ url, user: anna, headers: () => tokenOf(present) })
  const looking = createClient({ url, headers: () => tokenOf(ben) })
  let leave = () => {}
  locks.releaseOnPageHide({
    addEventListener: (_type, listener) => {
      leave = listener
    },
    removeEventListener: () => {}
  })

  const held = await locks.acquire(title, { payload: 'hers' })
  t.equal(
    (await editions.update(60, { title: [{ value: 'By Anna' }] })).edition['title']?.[0]?.['value'],
    'By Anna',
    'while she is signed in'
  )
  const drafts = await locks.drafts(title)

  present = ben
  const before = cms.requests
  const changed = {
    status: 403,
    code: 'USER_CHANGED',
    message: 'Nothing was done: the request is meant for user "7", but you are signed in as "8"'
  }
  const writes: Record<string, () => Promise<unknown>> = {
    'a new lock': () => locks.acquire({ ...title, fieldName: 'field_key' }),
    'a takeover': () => locks.overwrite(title),
    'a text': () => held.save('hers, and more'),
    'a release': () => locks.release(title),
    'what is discarded': () => locks.discard(title),
    'a new edition': () => editions.create('daily', { title: [{ value: 'x' }] }),
    'a save': () => editions.update(60, { title: [{ value: 'x' }] })
  }
  for (const [what, write] of Object.entries(writes)) t.match(await failureOf(write()), changed, what)
  leave()
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.equal(cms.requests, before, 'the CMS was not asked')
  t.match(await looking.locks.list(title), [{ userData: anna, payload: 'hers' }], 'her lock is as it was')
  t.strictSame(await looking.locks.list({ ...title, fieldName: 'field_key' }), [])

  present = anna
  await held.save('hers, and more')
  t.match(
    [await looking.locks.list(title), await locks.drafts(title)],
    [[{ payload: 'hers, and more' }], drafts],
    'she goes on when she is back'
  )
  await held.release()
})

t.test('a uid that no header field takes is named all the same', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const app = await build(t, { ...jwtEnv(t), DYNAMODB_ENDPOINT: endpoint })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const uid of ['Zoë Müller', '100%', 'a b']) {
    let sub = uid
    const { locks } = createClient({ url, user: { uid }, headers: () => bearer({ sub }) })
    const held = await locks.acquire(title)
    sub = `${uid}2`
    t.match(await failureOf(locks.release(title)), { code: 'USER_CHANGED' })
    sub = uid
    await held.release()
  }
})
