import { inspect, isDeepStrictEqual } from 'node:util'
import { DescribeTableCommand, DynamoDBClient, type DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import t, { type Test } from 'tap'
import { createStore, unmarshallOptions } from '#lib/table/client.ts'
import { isUnmetCondition, reply } from '#lib/table/failures.ts'
import type { ObservedCall } from '#lib/observe.ts'
import fc from '../fixtures/property.ts'
import { fails, say, startFakeEngine, type Script } from '../locks/fixtures/fake-engine.ts'

const TableName = 'DataState'
const Key = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }
const record = {
  ...Key,
  timestamp: 1767225600,
  userData: { uid: '7', name: 'Anna', at: [1, 2.5, null, true] },
  payload: 'Zürich "quoted" \\ 日本'
}

/** The operations of lib/table/table.ts, each with all that it may say. */
const commands = {
  put: (item: object = record) =>
    new PutCommand({
      TableName,
      Item: item as never,
      ConditionExpression: 'attribute_not_exists(#key) OR #userData.#uid = :uid',
      ExpressionAttributeNames: { '#key': 'env_entityType_entityId', '#userData': 'userData', '#uid': 'uid' },
      ExpressionAttributeValues: { ':uid': '7' },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
    }),
  'put without a condition': () =>
    new PutCommand({
      TableName,
      Item: {
        ...Key,
        userData: new Map<string, unknown>([
          ['constructor', 'x'],
          ['uid', '7']
        ])
      }
    }),
  'put that gives the old record': () => new PutCommand({ TableName, Item: record, ReturnValues: 'ALL_OLD' }),
  delete: () =>
    new DeleteCommand({
      TableName,
      Key,
      ConditionExpression: '#uid = :uid',
      ExpressionAttributeNames: { '#uid': 'uid' },
      ExpressionAttributeValues: { ':uid': '7' },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
    }),
  get: () => new GetCommand({ TableName, Key, ConsistentRead: true }),
  query: (from?: object) =>
    new QueryCommand({
      TableName,
      ConsistentRead: true,
      KeyConditionExpression: '#key = :key',
      FilterExpression: 'NOT #expiresAt <= :now',
      ProjectionExpression: '#key, #fieldName',
      ExpressionAttributeNames: { '#key': 'env_entityType_entityId', '#expiresAt': 'expiresAt', '#fieldName': 'fieldName' },
      ExpressionAttributeValues: { ':key': 'test-node-1', ':now': 1767225600 },
      ExclusiveStartKey: from as never
    })
}

type AnyCommand = ReturnType<(typeof commands)[keyof typeof commands]>

/** What a client sends and gives back. */
interface Outcome {
  sent: object[]
  output?: object
  error?: object
}

/** One engine, and two clients of it: with the shortcut, and the SDK's stock one. */
async function bench(t: Test) {
  const engine = await startFakeEngine(t)
  const sent: object[] = []
  let script: Script = () => {}
  engine.script = (operation, input, response) => {
    const { 'content-type': type, host } = response.req.headers
    sent.push({ operation, input, type, host })
    script(operation, input, response)
  }
  const calls: ObservedCall[] = []
  const quick = createStore({
    region: 'local',
    endpoint: engine.endpoint,
    attemptMs: 30_000,
    observe: (call) => {
      calls.push(call)
      return { end() {} }
    }
  })
  const slow = new DynamoDBClient({
    region: 'local',
    endpoint: engine.endpoint,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    maxAttempts: 3
  })
  const stock = DynamoDBDocumentClient.from(slow, { unmarshallOptions: { ...unmarshallOptions } })
  t.teardown(() => {
    quick.destroy()
    slow.destroy()
  })

  async function outcome(client: DynamoDBDocumentClient, command: AnyCommand): Promise<Outcome> {
    sent.splice(0)
    try {
      const {
        $metadata: { attempts, httpStatusCode },
        ...output
      } = (await client.send(command as never)) as Record<string, any>
      return { sent: sent.splice(0), output: { ...output, attempts, httpStatusCode } }
    } catch (error) {
      const { name, message } = error as Error
      if (isUnmetCondition(error)) return { sent: sent.splice(0), error: { name, message, item: error.Item } }
      const { $fault, $metadata: { attempts, httpStatusCode } = {} } = error as DynamoDBServiceException
      return { sent: sent.splice(0), error: { name, message, $fault, attempts, httpStatusCode } }
    }
  }

  /** Both ways, for one answer of the store. */
  async function compared(command: () => AnyCommand, how: Script): Promise<[quick: Outcome, stock: Outcome]> {
    script = how
    return [await outcome(quick.client, command()), await outcome(stock, command())]
  }

  // Where the store is the SDK finds out, at the first operation.
  await compared(commands.get, (_operation, _input, response) => say(response, 200, {}))
  calls.splice(0)
  return { engine, compared, calls }
}

/** As t.strictSame, which takes a member called `constructor` for a class. */
function same(t: Test, quick: Outcome, stock: Outcome, what: string): void {
  t.ok(isDeepStrictEqual(quick, stock), what, { quick: inspect(quick, { depth: 9 }), stock: inspect(stock, { depth: 9 }) })
}

/** An item, where the answer of an operation has one. */
function gives(item: string): Script {
  const members: Record<string, string> = {
    PutItem: `"Attributes":${item}`,
    DeleteItem: `"Attributes":${item}`,
    GetItem: `"Item":${item}`,
    Query: `"Items":[${item},${JSON.stringify(marshall(Key))}],"Count":2,"ScannedCount":3,"LastEvaluatedKey":${JSON.stringify(marshall(Key))}`
  }
  return (operation, _input, response) => say(response, 200, `{${members[operation]}}`)
}

/** That a condition is not met, with the item of which it is not true. */
function refuses(item: string): Script {
  return (_operation, _input, response) =>
    say(
      response,
      400,
      `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":${item}}`
    )
}

const answers: Array<[what: string, script: Script]> = [
  ['nothing', (_operation, _input, response) => say(response, 200, {})],
  ['a record', gives(JSON.stringify(marshall(record)))],
  ['numbers beyond what JavaScript can hold', gives('{"n":{"N":"12345678901234567890123"},"s":{"NS":["1e100","2"]}}')],
  [
    'members that are called like members of objects',
    gives('{"__proto__":{"S":"x"},"constructor":{"M":{"toString":{"S":"y"},"__proto__":{"M":{}}}}}')
  ],
  ['bytes', gives('{"b":{"B":"AQID"},"s":{"BS":["AQ=="]}}')],
  ['an attribute that is called as the type of bytes is', gives('{"B":{"S":"text"}}')],
  ['a condition that is not met', fails('ConditionalCheckFailedException')],
  ['a condition that is not met, and why', refuses(JSON.stringify(marshall(record)))],
  ['a condition that is not met because of bytes', refuses('{"b":{"B":"AQID"}}')],
  ['a wrong request', fails('ValidationException', 400, 'com.amazon.coral.validate')],
  ['no such table', fails('ResourceNotFoundException')],
  ['that the credentials are unknown', fails('UnrecognizedClientException', 400, 'com.amazon.coral.service')]
]

t.test('by the shortcut the same is sent once, and the same comes back, as by the stock client', async (t) => {
  const { compared } = await bench(t)
  for (const [said, script] of answers) {
    for (const [name, command] of Object.entries(commands)) {
      const [quick, stock] = await compared(command, script)
      same(t, quick, stock, `${name}, answered ${said}`)
      t.equal(quick.sent.length, 1)
    }
  }
})

t.test('what is throttled, broken or garbled is tried as often as by the stock client, and fails as there', async (t) => {
  const { compared } = await bench(t)
  const failing: Array<[what: string, script: Script]> = [
    ['throttling', fails('ThrottlingException', 400, 'com.amazon.coral.availability')],
    ['an internal error', fails('InternalServerError', 500)],
    ['a page of a gateway', (_operation, _input, response) => say(response, 503, '<html>')],
    ['something else', (_operation, _input, response) => say(response, 200, '<html>')]
  ]
  for (const [said, script] of failing) {
    const [quick, stock] = await compared(commands.get, script)
    t.match(quick.error, { name: String }, said)
    t.strictSame(quick.sent, stock.sent, said)
    t.equal(
      JSON.stringify(quick.error).replace(/Deserialization error.*?"/, ''),
      JSON.stringify(stock.error).replace(/Deserialization error.*?"/, '')
    )
  }
})

t.test('an attempt that fails is made good by the SDK', async (t) => {
  const { compared } = await bench(t)
  let turn = 0
  const [quick, stock] = await compared(commands.get, (operation, input, response) => {
    if (turn++ % 2 === 0) fails('ProvisionedThroughputExceededException')(operation, input, response)
    else say(response, 200, { Item: marshall(record) })
  })
  same(t, quick, stock, 'both have tried twice')
  t.match(quick, { output: { Item: record, attempts: 2 }, sent: { length: 2 } })
})

t.test('any record is sent and read as by the stock client', async (t) => {
  const name = fc.oneof(fc.string({ minLength: 1, unit: 'binary' }), fc.constantFrom('B', 'BS', 'constructor', 'S'))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'grapheme' }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e100, max: 1e100 }),
      fc.boolean(),
      fc.constant(null),
      fc.uint8Array({ maxLength: 4 }),
      fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 3 }).map((numbers) => new Set(numbers)),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((members) => new Map(members))
    )
  }))
  const records = fc.uniqueArray(fc.tuple(name, value), { maxLength: 4, selector: ([name]) => name })
  // The first one takes seconds on a busy machine, and the engine closes a connection that is idle for five.
  fc.sample(records, 1)
  const { compared } = await bench(t)
  await fc.assert(
    fc.asyncProperty(records, async (members) => {
      const item = Object.fromEntries(members)
      const [quick, stock] = await compared(
        () => commands.put(item),
        (_operation, { Item }, response) => say(response, 200, { Attributes: Item })
      )
      return isDeepStrictEqual(quick, stock)
    }),
    { numRuns: 100 }
  )
})

t.test('pages, aborts and other operations go as before; each operation is told of once, by its name', async (t) => {
  const { engine, compared, calls } = await bench(t)
  const [quick, stock] = await compared(
    () => commands.query(Key),
    (_operation, _input, response) => say(response, 200, { Items: [], Count: 0, ScannedCount: 0 })
  )
  same(t, quick, stock, 'the next page')
  t.strictSame(calls.splice(0), [{ to: 'store', operation: 'Query', table: TableName }])
  await compared(commands.delete, fails('ThrottlingException'))
  t.strictSame(calls, [{ to: 'store', operation: 'DeleteItem', table: TableName }], 'its attempts are one')

  engine.script = (_operation, _input, response) => say(response, 200, { Table: {} })
  const { client, destroy } = createStore({
    region: 'local',
    endpoint: engine.endpoint,
    observe: (call) => {
      calls.push(call)
      return { end() {} }
    }
  })
  t.teardown(destroy)
  await client.send(new DescribeTableCommand({ TableName }))
  t.match(calls.at(-1), { operation: 'DescribeTable' })
  engine.script = () => {}
  await t.rejects(client.send(commands.get(), { abortSignal: AbortSignal.timeout(20) }), 'with a signal of the caller')
})

t.test('with shortcut: false everything goes through the SDK', async (t) => {
  const engine = await startFakeEngine(t)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint, shortcut: false })
  t.teardown(destroy)
  const seen: unknown[] = []
  engine.script = (_operation, _input, response) => {
    seen.push(response.req.headers['amz-sdk-request'])
    say(response, 200, {})
  }
  await client.send(commands.get())
  await reply(client.send(commands.get()))
  t.strictSame(seen, ['attempt=1; max=3', 'attempt=1; max=3'])
})
