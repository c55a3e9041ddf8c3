import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import type { Draft } from '#lib/locks/schemas.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { bearer, jwtEnv } from './fixtures.ts'

const LOCK = '/api/cloud/data-state/node/1'
const anna = bearer({ sub: '7', name: 'Anna' })
const ben = bearer({ sub: '8', name: undefined })
const root = bearer({ sub: '1', name: 'Root' })

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The application with AUTH=jwt and an empty table; the user 1 is an administrator. */
async function newsroom(t: Test, env: Record<string, string> = jwtEnv(t)) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const fastify = await build(t, { DYNAMODB_ENDPOINT: endpoint, AUTH_ADMINS: '1, 99', ...env })
  const send = async (headers: Record<string, string>, method: Method, url: string, body?: InjectOptions['payload']) => {
    const reply = await fastify.inject({ method, url, headers, ...(body !== undefined && { body }) })
    return { status: reply.statusCode, body: reply.json() }
  }
  const held = async (headers: Record<string, string> = anna) =>
    (await send(headers, 'GET', LOCK)).body.data.Items.map(({ fieldName, userData }: { fieldName: string; userData: object }) => [
      fieldName,
      userData
    ])
  const take = async (headers: Record<string, string>, ...fields: string[]) => {
    for (const fieldName of fields) {
      t.strictSame(await send(headers, 'PUT', LOCK, { fieldName, payload: `${fieldName} text` }), { status: 200, body: { success: true } })
    }
  }
  return { send, held, take }
}

const FORBIDDEN = (where: string, uid: string) => ({
  status: 403,
  body: {
    success: false,
    message: `Error: ${where} must be your own, which is "${uid}"`,
    error: { name: 'ForbiddenError', code: 'FORBIDDEN', message: `${where} must be your own, which is "${uid}"` }
  }
})

t.test('a lock is filled with the uid and name of its caller where they are left out', async (t) => {
  const { send, held } = await newsroom(t)
  const bodies: Array<[headers: Record<string, string>, body: object, userData: object]> = [
    [anna, {}, { uid: '7', name: 'Anna' }],
    [anna, { userData: {} }, { uid: '7', name: 'Anna' }],
    [anna, { userData: { uid: '7' } }, { uid: '7', name: 'Anna' }],
    [anna, { userData: { uid: 7, name: 'Chief Editor', tab: 'x' } }, { uid: '7', name: 'Anna', tab: 'x' }],
    [anna, { userData: { name: '' } }, { uid: '7', name: 'Anna' }],
    [anna, { userData: { tab: 1 } }, { uid: '7', name: 'Anna', tab: 1 }]
  ]
  for (const method of ['POST', 'PUT'] as const) {
    for (const [headers, body, userData] of bodies) {
      t.strictSame(
        await send(headers, method, LOCK, { fieldName: 'title', ...body }),
        { status: 200, body: { success: true } },
        JSON.stringify(body)
      )
      t.strictSame(await held(), [['title', userData]], JSON.stringify(body))
    }
  }
  t.equal((await send(ben, 'POST', LOCK, { fieldName: 'body' })).status, 200)
  t.strictSame(
    await held(),
    [
      ['body', { uid: '8' }],
      ['title', bodies[5]![2]]
    ],
    'who has no name has none'
  )
  t.equal((await send(ben, 'POST', LOCK, { fieldName: 'body', userData: { name: 'Ben' } })).status, 200)
  t.strictSame((await held())[0], ['body', { uid: '8', name: 'Ben' }], 'but what he says')
  await send(anna, 'PUT', LOCK, { fieldName: 'title', payload: 'x' })
  await send(ben, 'PUT', LOCK, { fieldName: 'title' })
  await send(anna, 'PUT', LOCK, { fieldName: 'title', userData: { name: 'Chief Editor' } })
  await send(ben, 'PUT', LOCK, { fieldName: 'title', payload: 'y' })
  await send(anna, 'PUT', LOCK, { fieldName: 'title', userData: { name: 'Chief Editor' } })
  t.match(
    (await send(ben, 'GET', `${LOCK}/drafts`)).body.data.Items,
    [{ payload: 'y', displacedBy: { uid: '7', name: 'Anna' } }],
    'nor does anybody displace under another name'
  )
})

t.test("a lock with another's uid is refused and nothing is written, an administrator's too", async (t) => {
  const { send, held } = await newsroom(t)
  for (const method of ['POST', 'PUT'] as const) {
    for (const uid of ['8', 8, '07', ' 7', '7 ', '７']) {
      t.strictSame(
        await send(anna, method, LOCK, { fieldName: 'title', userData: { uid } }),
        FORBIDDEN('body/userData/uid', '7'),
        JSON.stringify(uid)
      )
    }
    t.strictSame(await send(root, method, LOCK, { fieldName: 'title', userData: { uid: '7' } }), FORBIDDEN('body/userData/uid', '1'))
    for (const userData of [{ uid: '' }, { uid: null }, { uid: 1.5 }, { uid: ['7'] }, { name: 5 }, 'Anna', null]) {
      t.match(
        await send(anna, method, LOCK, { fieldName: 'title', userData }),
        { status: 400, body: { error: { code: 'BAD_REQUEST' } } },
        JSON.stringify(userData)
      )
    }
  }
  t.strictSame(await held(), [])
})

t.test("another's lock holds, and taking it over stays everybody's right", async (t) => {
  const { send, held, take } = await newsroom(t)
  await take(anna, 'title')
  t.match(await send(ben, 'POST', LOCK, { fieldName: 'title' }), {
    status: 423,
    body: { error: { lock: { userData: { uid: '7', name: 'Anna' } } } }
  })
  await take(ben, 'title')
  t.strictSame(await held(), [['title', { uid: '8' }]])
})

t.test("DELETE and release touch only the caller's own locks", async (t) => {
  const { send, held, take } = await newsroom(t)
  const release = (headers: Record<string, string>, query: string, body?: object) => send(headers, 'POST', `${LOCK}/release${query}`, body)
  const remove = (headers: Record<string, string>, query: string) => send(headers, 'DELETE', `${LOCK}${query}`)
  const done = { status: 200, body: { success: true } }
  await take(anna, 'a', 'b', 'c', 'd', 'e')
  await take(ben, 'x', 'y')
  const all = await held()

  for (const query of ['?uid=7', '?fieldName=a&uid=7', '?fieldName=x&uid=7']) {
    t.strictSame(await remove(ben, query), FORBIDDEN('uid', '8'), query)
  }
  t.strictSame(await release(ben, '', { uid: 7 }), FORBIDDEN('uid', '8'))
  t.strictSame(await release(ben, '?uid=8', { uid: '7', fieldName: 'a' }), done, 'the query goes first: as his own he has no such lock')
  const message = 'Another user holds this field, and you may release only your own locks'
  for (const refused of [await remove(ben, '?fieldName=a'), await release(ben, '', { fieldName: 'a' })]) {
    t.match(
      refused,
      {
        status: 403,
        body: {
          success: false,
          message: `Error: ${message}`,
          error: { name: 'ForbiddenError', code: 'FORBIDDEN', message, lock: { fieldName: 'a', userData: { uid: '7', name: 'Anna' } } }
        }
      },
      'a fieldName alone'
    )
    t.notHas(refused.body.error.lock, { payload: {} })
  }
  t.strictSame(await remove(ben, '?fieldName=a&uid=8'), done, 'with his uid he has no such lock')
  t.strictSame(await remove(ben, '?fieldName=nobodys'), done)
  for (const nothing of [await remove(anna, ''), await release(anna, ''), await release(anna, '', {})]) {
    t.match(
      nothing,
      { status: 400, body: { message: 'Error: querystring must have fieldName or uid' } },
      'neither does not come to mean all'
    )
  }
  t.strictSame(await held(), all, 'nothing has gone so far')

  t.strictSame(await remove(anna, '?fieldName=a'), done)
  t.strictSame(await remove(anna, '?fieldName=b&uid=7'), done)
  t.strictSame(await release(anna, '', { fieldName: 'c' }), done)
  t.strictSame(
    await send({ ...anna, 'content-type': 'text/plain;charset=UTF-8' }, 'POST', `${LOCK}/release`, '{"fieldName":"d"}'),
    done,
    'as a beacon'
  )
  t.strictSame(
    (await held()).map(([field]: [string]) => field),
    ['e', 'x', 'y']
  )
  t.strictSame(await release(anna, '', { uid: '7' }), done)
  t.strictSame(
    (await held()).map(([field]: [string]) => field),
    ['x', 'y']
  )
  t.strictSame((await send(anna, 'GET', `${LOCK}/drafts`)).body.data.Count, 0, 'what its own holder releases is not kept')
})

t.test('an administrator releases the locks of others as anybody does with AUTH=none', async (t) => {
  const { send, held, take } = await newsroom(t)
  await take(anna, 'a', 'b', 'c')
  await take(ben, 'x')
  await send(root, 'DELETE', `${LOCK}?fieldName=a`)
  await send(root, 'POST', `${LOCK}/release`, { fieldName: 'x' })
  t.strictSame(
    (await held()).map(([field]: [string]) => field),
    ['b', 'c']
  )
  await send(ben, 'PUT', LOCK, { fieldName: 'without a text' })
  await send(root, 'DELETE', `${LOCK}?fieldName=without%20a%20text&uid=7`)
  t.strictSame(
    (await held()).map(([field]: [string]) => field),
    ['b', 'c', 'without a text'],
    'nor does he release by one uid what is of another'
  )
  await send(root, 'DELETE', `${LOCK}?uid=8`)
  await send(root, 'DELETE', `${LOCK}?uid=7`)
  t.strictSame(await held(), [])
  const { Items } = (await send(anna, 'GET', `${LOCK}/drafts`)).body.data
  t.strictSame(
    Items.map(({ fieldName, payload, displacedBy }: Draft) => [fieldName, payload, displacedBy]).sort(),
    ['a', 'b', 'c'].map((field) => [field, `${field} text`, { uid: '1', name: 'Root' }]),
    'the texts of a forced release are kept'
  )
  await take(root, 'a', 'b')
  for (const query of ['?fieldName=a&uid=1', '?uid=1']) await send(root, 'DELETE', LOCK + query)
  t.strictSame([await held(), (await send(root, 'GET', `${LOCK}/drafts?uid=1`)).body.data.Count], [[], 0], 'his own are not')
})

t.test('drafts are shown and discarded only to whom they belong, and to administrators', async (t) => {
  const { send, take } = await newsroom(t)
  await take(anna, 'a', 'b')
  await take(ben, 'a', 'b', 'x')
  await take(anna, 'x')
  const drafts = async (headers: Record<string, string>, query = '') => {
    const { status, body } = await send(headers, 'GET', `${LOCK}/drafts${query}`)
    return status === 200
      ? body.data.Items.map(
          ({ fieldName, userData }: { fieldName: string; userData: { uid: string } }) => `${userData.uid} ${fieldName}`
        ).sort()
      : { status, body }
  }
  const discard = (headers: Record<string, string>, query = '') => send(headers, 'DELETE', `${LOCK}/drafts${query}`)
  t.strictSame(await drafts(anna), ['7 a', '7 b'])
  t.strictSame(await drafts(anna, '?uid=7&fieldName=a'), ['7 a'])
  t.strictSame(await drafts(ben, '?fieldName=a'), [])
  t.strictSame(await drafts(ben), ['8 x'])
  t.strictSame(await drafts(ben, '?uid=7'), FORBIDDEN('uid', '8'))
  t.strictSame(await drafts(root), ['7 a', '7 b', '8 x'])
  t.strictSame(await drafts(root, '?uid=7'), ['7 a', '7 b'])

  t.strictSame(await discard(ben, '?uid=7'), FORBIDDEN('uid', '8'))
  t.match(await discard(anna), { status: 400 }, 'neither does not come to mean all')
  t.equal((await discard(ben, '?fieldName=a')).status, 200)
  t.strictSame(await drafts(root), ['7 a', '7 b', '8 x'], "another's stays")
  t.equal((await discard(anna, '?fieldName=a')).status, 200)
  t.strictSame(await drafts(anna), ['7 b'])
  t.equal((await discard(root, '?uid=7')).status, 200)
  t.strictSame(await drafts(root), ['8 x'])
})

t.test('with AUTH=drupal the lock has the uid and the display name that Drupal says', async (t) => {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { send, held } = await newsroom(t, { AUTH: 'drupal', CMS_URL: await cms.listen() })
  const editor = { authorization: `Basic ${btoa('editor:editor')}` }
  t.equal((await send(editor, 'POST', LOCK, { fieldName: 'title' })).status, 200)
  t.strictSame(await held(editor), [['title', { uid: '2', name: 'editor' }]])
  t.match(await send(editor, 'POST', LOCK, { fieldName: 'title', userData: { uid: '1' } }), { status: 403 })
  t.match(await send({ authorization: `Basic ${btoa('editor:wrong')}` }, 'GET', LOCK), {
    status: 401,
    body: { success: false, error: { code: 'UNAUTHENTICATED' } }
  })
  await cms.close()
  t.equal((await send(editor, 'GET', LOCK)).status, 200, 'locks go on without the CMS')
  t.match(await send({ authorization: `Basic ${btoa('reader:reader')}` }, 'GET', LOCK), {
    status: 503,
    body: { success: false, error: { code: 'AUTH_UNAVAILABLE', name: 'ServiceUnavailableError' } }
  })
})

t.test('with AUTH=none an absent uid stays wrong, in the same words', async (t) => {
  const { send, held } = await newsroom(t, {})
  const wrong: Array<[body: object, message: string]> = [
    [{ fieldName: 'f' }, "body must have required property 'userData'"],
    [{ fieldName: 'f', userData: {} }, "body/userData must have required property 'uid'"],
    [{ fieldName: 'f', userData: { name: 'Anna' } }, "body/userData must have required property 'uid'"]
  ]
  for (const [body, message] of wrong) {
    for (const headers of [{}, anna, { 'x-user-uid': '7' }, { 'x-user-uid': 'not a uid' }]) {
      t.strictSame(await send(headers as Record<string, string>, 'POST', LOCK, body), {
        status: 400,
        body: { success: false, message: `Error: ${message}`, error: { name: 'BadRequestError', code: 'BAD_REQUEST', message } }
      })
    }
  }
  t.strictSame(await held({}), [])
  await send({}, 'POST', LOCK, { fieldName: 'f', userData: { uid: '7' } })
  t.equal((await send({}, 'DELETE', `${LOCK}?fieldName=f`)).status, 200)
  t.strictSame(await held({}), [], "anybody's lock goes by its field alone")
})

t.test('OpenAPI shows that userData may be left out, but with AUTH=none', async (t) => {
  for (const [env, required, ofUserData] of [
    [jwtEnv(t), ['fieldName'], undefined],
    [{}, ['fieldName', 'userData'], ['uid']]
  ] as const) {
    const { paths } = (await (await build(t, env as Record<string, string>)).inject('/docs/json')).json()
    for (const method of ['post', 'put']) {
      const { schema, examples, example } = paths['/api/cloud/data-state/{type}/{id}'][method].requestBody.content['application/json']
      t.strictSame([schema.required, schema.properties.userData.required], [required, ofUserData])
      t.ok(examples ?? example ?? schema.examples)
    }
  }
})
