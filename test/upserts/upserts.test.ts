import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScanCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { startHostileCms, type HostileCms } from '../editions/hostile-cms.ts'
import { basic } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

type Put = (
  path: string,
  body: object,
  headers?: Record<string, string>
) => Promise<{ status: number; headers: Record<string, unknown>; body: any }>

/** Two instances that share a table, before one CMS. */
async function desk(t: Test, env: Record<string, string> = {}) {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  // The site does not look whether a key is taken, as Drupal does in vain when two come at once.
  const cms = await startHostileCms(t)
  const open = async (): Promise<Put> => {
    const app: FastifyInstance = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint, ...env })
    return async (path, body, headers = {}) => {
      const answer = await app.inject({
        method: 'PUT',
        url: `/api/collections/${path}`,
        headers: { ...basic('editor'), ...headers },
        payload: body
      })
      return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
    }
  }
  return {
    cms,
    instances: [await open(), await open()] as const,
    records: async () =>
      ((await client.send(new ScanCommand({ TableName: 'DataState' }))).Items ?? []).filter(({ fieldName }) => fieldName === 'key'),
    /** Ends the leases of all reservations, as time does. */
    async expire() {
      for (const { env_entityType_entityId: key, fieldName } of await this.records()) {
        await client.send(
          new UpdateCommand({
            TableName: 'DataState',
            Key: { env_entityType_entityId: key, fieldName },
            UpdateExpression: 'SET leaseUntil = :none',
            ExpressionAttributeValues: { ':none': 0 }
          })
        )
      }
    }
  }
}

const title = (text: string) => ({ title: [{ value: text }] })

function countCreates(cms: HostileCms): number {
  return cms.site.requestLines.filter((line) => /^POST .* 201$/.test(line)).length
}

t.test('an edition is made by its key, and changed by it', async (t) => {
  const {
    instances: [first, second],
    cms
  } = await desk(t)
  const made = await first('daily/by-key/pushed', title('Monday'))
  t.match(made, {
    status: 201,
    headers: { etag: String, location: /^\/api\/collection\/\d+$/ },
    body: { ...title('Monday'), type: [{ target_id: 'daily' }], field_key: [{ value: 'pushed' }] }
  })
  const changed = await second('daily/by-key/pushed', { ...title('Late'), field_key: [{ value: 'pushed' }], type: 'daily' })
  t.match(changed, { status: 200, headers: { location: made.headers['location'] }, body: { ...title('Late'), uuid: made.body.uuid } })
  const count = () => cms.asked.filter(({ method, body }) => method !== 'GET' && body !== '{}').length
  const writes = count()
  t.match(await first('daily/by-key/pushed', title('Late')), { status: 200, headers: { etag: changed.headers['etag'] } })
  t.equal(count(), writes, 'what is there already is not written')
})

t.test('If-Match lets an upsert change the edition that it names, and create none', async (t) => {
  const {
    instances: [put],
    cms,
    records
  } = await desk(t)
  const absent = await put('daily/by-key/pushed', title('Monday'), { 'if-match': '*' })
  t.match(absent, {
    status: 412,
    body: {
      code: 'PRECONDITION_FAILED',
      message: 'There is no edition with the key "pushed", so none that If-Match could name. Nothing was saved.'
    }
  })
  t.strictSame([countCreates(cms), await records()], [0, []])

  const {
    headers: { etag }
  } = await put('daily/by-key/pushed', title('Monday'))
  t.match(
    await put('daily/by-key/pushed', title('Monday'), { 'if-match': '"stale.x"' }),
    { status: 412, headers: { etag } },
    'also where no field differs'
  )
  t.match(await put('daily/by-key/pushed', title('Late'), { 'if-match': String(etag) }), { status: 200, body: title('Late') })
  t.match(await put('daily/by-key/pushed', title('Later'), { 'if-match': String(etag) }), {
    status: 412,
    body: { code: 'PRECONDITION_FAILED' }
  })
  t.match(await put('daily/by-key/pushed', title('Late'), { 'if-match': '*' }), { status: 200, body: title('Late') })
})

t.test('of 30 at once through two instances one makes the edition, and the others get it', async (t) => {
  const { instances, cms } = await desk(t)
  // On a slow machine the create may take longer than the others wait.
  const push = async (put: Put): ReturnType<Put> => {
    const answer = await put('daily/by-key/at%20once', title('Monday'))
    return answer.status === 503 ? push(put) : answer
  }
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => push(instances[index % 2]!)))
  t.strictSame(answers.map(({ status, body }) => (status < 300 ? status : body.code)).sort(), [
    ...Array.from({ length: 29 }, () => 200),
    201
  ])
  t.equal(new Set(answers.map(({ body }) => body.uuid[0].value)).size, 1)
  t.equal(countCreates(cms), 1)
})

t.test('a body with another key or bundle is refused, and so is what is no bundle', async (t) => {
  const {
    instances: [put]
  } = await desk(t)
  t.match(await put('daily/by-key/one', { field_key: [{ value: 'two' }] }), {
    status: 422,
    body: { code: 'UNPROCESSABLE', message: /field_key.*"one"/ }
  })
  t.match(await put('daily/by-key/one', { type: [{ target_id: 'special' }] }), {
    status: 422,
    body: { code: 'UNPROCESSABLE', message: /type.*"daily"/ }
  })
  for (const bundle of ['weekly', 'article', 'publisher_container']) {
    t.match(await put(`${bundle}/by-key/one`, title('x')), { status: 404, body: { code: 'NOT_FOUND' } })
  }
  t.match(await put(`daily/by-key/${'x'.repeat(256)}`, title('x')), { status: 400 })
  t.match(await put('daily/by-key/one', { title: [] }), { status: 422 }, 'and what Drupal refuses')
  t.match(await put('daily/by-key/one', title('Monday')), { status: 201 }, 'which leaves the key free')
})

t.test('a site without a key has no upserts', async (t) => {
  const file = join(emptyDirectory(t), 'model.json')
  writeFileSync(file, JSON.stringify({ fields: { key: null } }))
  const {
    instances: [put]
  } = await desk(t, { CONTENT_MODEL: file })
  t.match(await put('daily/by-key/one', title('x')), { status: 400, body: { code: 'BAD_REQUEST', message: /no field key/ } })
})

t.test('a reservation whose instance is halted goes on with its uuid, whether it has saved or not', async (t) => {
  for (const hasSaved of [true, false]) {
    const desk_ = await desk(t, { CMS_TIMEOUT_MS: '60000' })
    const {
      cms,
      instances: [first, second],
      records
    } = desk_
    const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<'reset'>()]
    cms.behave = async ({ method }, honest) => {
      if (method !== 'POST') return undefined
      cms.behave = () => undefined
      if (hasSaved) await honest()
      reached.resolve()
      return resumed.promise
    }
    const halted = first('daily/by-key/halted', title('Monday'))
    await reached.promise
    const [record] = await records()
    await desk_.expire()
    const answer = await second('daily/by-key/halted', title('Monday'))
    t.match(answer, { status: hasSaved ? 200 : 201, body: { uuid: [{ value: record!['uuid'] }] } })
    resumed.resolve('reset')
    await halted
    t.equal(countCreates(cms), 1)
  }
})

t.test('the key of an edition that is deleted makes a new one', async (t) => {
  const {
    cms,
    instances: [put]
  } = await desk(t)
  const {
    body: {
      uuid: [{ value: uuid }]
    }
  } = await put('daily/by-key/gone', title('Monday'))
  const { status } = await fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
    method: 'DELETE',
    headers: { ...basic('editor'), accept: 'application/vnd.api+json' }
  })
  t.equal(status, 204)
  const again = await put('daily/by-key/gone', title('Monday'))
  t.equal(again.status, 201)
  t.not(again.body.uuid[0].value, uuid)
})

t.test('an upsert with an Idempotency-Key has the same status when it is sent again', async (t) => {
  const {
    instances: [first, second],
    cms
  } = await desk(t)
  const headers = { 'idempotency-key': '"one"' }
  t.match(await first('daily/by-key/twice', title('Monday'), headers), { status: 201 })
  t.match(await second('daily/by-key/twice', title('Monday'), headers), { status: 201, headers: { 'idempotency-replayed': 'true' } })
  t.equal(countCreates(cms), 1)
})
