import { CreateTableCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, GetCommand, PutCommand, QueryCommand, ScanCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { checkStore, type StoreToCheck } from '../doctor/store.ts'
import { createStore } from '../../../lib/table/client.ts'
import { tableDefinition } from '../../../lib/table/definition.ts'
import { report } from '../diagnosis.ts'
import { engineNames, startEngine } from '../../../test/locks/fixtures/engines.ts'
import { fails, say, startFakeEngine, works, type Script } from '../../../test/locks/fixtures/fake-engine.ts'

const THERE = 'ok   table DataState: is there, partition key env_entityType_entityId (S), sort key fieldName (S)'
const WORKS = 'ok   PutItem, GetItem, Query and DeleteItem: work, as tried with a record that is removed again'
const DENIED = 'these credentials may not call'

async function lines(at: Partial<StoreToCheck> & Pick<StoreToCheck, 'client'>): Promise<string[]> {
  const found: string[] = []
  const right = await report(checkStore({ table: 'DataState', environment: 'test', local: true, ...at }), (text) => found.push(text))
  t.equal(right, !found.some((text) => text.startsWith('!')))
  return found
}

/** The client with a fault: what `at` says of a command happens, before or after the engine has had it. */
function faulty(client: DynamoDBDocumentClient, at: (command: unknown) => 'before' | 'after' | undefined): DynamoDBDocumentClient {
  async function send(command: never): Promise<unknown> {
    const when = at(command)
    if (when === 'before') throw lost()
    const answer = await client.send(command)
    if (when === 'after') throw lost()
    return answer
  }
  return { send } as unknown as DynamoDBDocumentClient
}

const lost = () => Object.assign(new Error('no answer from the store'), { name: 'TimeoutError' })

/** AWS with a table as it should be, but for what a test says of an operation. */
async function aws(t: Test, odd: Record<string, Script>) {
  const engine = await startFakeEngine(t)
  const usual: Record<string, Script> = {
    DescribeTable: (_operation, _input, response) =>
      say(response, 200, { Table: { ...tableDefinition('DataState'), TableStatus: 'ACTIVE' } }),
    DescribeTimeToLive: (_operation, _input, response) =>
      say(response, 200, { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: 'removeAt' } }),
    GetItem: (_operation, input, response) => say(response, 200, { Item: input.Key }),
    Query: (_operation, _input, response) => say(response, 200, { Items: [{}], Count: 1, ScannedCount: 1 })
  }
  engine.script = (operation, input, response) => (odd[operation] ?? usual[operation] ?? works)(operation, input, response)
  const { client, destroy } = createStore({ region: 'eu-central-1', endpoint: engine.endpoint, attempts: 1 })
  t.teardown(destroy)
  return { client, local: false, operations: engine.operations }
}

for (const name of engineNames) {
  t.test(`${name}: a table that is right, and nothing is left in it`, async (t) => {
    const { client } = await startEngine(t, name)
    const off = '-    time to live: is off; npm run table turns it on where the engine has it'
    t.strictSame(await lines({ client }), [THERE, off, WORKS])
    if (name === 'dynoxide') {
      await client.send(
        new UpdateTimeToLiveCommand({ TableName: 'DataState', TimeToLiveSpecification: { Enabled: true, AttributeName: 'removeAt' } })
      )
      t.strictSame(await lines({ client }), [THERE, 'ok   time to live: is on, by removeAt', WORKS])
    }
    t.equal((await client.send(new ScanCommand({ TableName: 'DataState' }))).Count, 0)
  })

  t.test(`${name}: the record of the doctor is one no entity can have, and is removed whatever fails`, async (t) => {
    const { client } = await startEngine(t, name)
    const sent: PutCommand[] = []
    const faults: Array<[what: string, at: (command: unknown) => 'before' | 'after' | undefined]> = [
      ['GetItem', (command) => (command instanceof GetCommand ? 'before' : undefined)],
      ['Query', (command) => (command instanceof QueryCommand ? 'before' : undefined)],
      ['PutItem', (command) => (command instanceof PutCommand ? 'after' : undefined)],
      ['PutItem', (command) => (command instanceof PutCommand ? 'before' : undefined)],
      ['DeleteItem', (command) => (command instanceof DeleteCommand ? 'after' : undefined)]
    ]
    for (const [operation, at] of faults) {
      const found = await lines({
        client: faulty(client, (command) => {
          if (command instanceof PutCommand) sent.push(command)
          return at(command)
        })
      })
      t.match(found.slice(2), [new RegExp(`^! {4}${operation}: there was no answer`)], operation)
      t.equal((await client.send(new ScanCommand({ TableName: 'DataState' }))).Count, 0, `${operation}: nothing is left`)
    }
    for (const {
      input: { Item }
    } of sent) {
      t.match(Item, { env_entityType_entityId: /^test-#/, fieldName: /^[0-9a-f-]{36}$/, removeAt: Number })
      t.ok(Math.abs(Number(Item!['removeAt']) - 3600 - Date.now() / 1000) < 60, 'time to live would remove it an hour later')
    }
    t.equal(new Set(sent.map(({ input }) => String(input.Item!['fieldName']))).size, sent.length, 'each doctor has one of its own')
  })

  t.test(`${name}: a table that is absent or has other keys is not written to`, async (t) => {
    const { client } = await startEngine(t, name)
    t.strictSame(await lines({ client, table: 'Absent' }), [
      '!    table Absent: there is no such table: make it with npm run table, or correct DATA_STATE_TABLE and AWS_REGION'
    ])
    await client.send(
      new CreateTableCommand({
        ...tableDefinition('Other'),
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }]
      })
    )
    t.match(await lines({ client, table: 'Other' }), [/^! {4}table Other: it has partition key id \(S\); wanted: /])
    t.equal((await client.send(new ScanCommand({ TableName: 'Other' }))).Count, 0)
  })
}

for (const name of engineNames) {
  t.test(`${name}: whether saves can check locks in one moment is tried where they respect locks`, async (t) => {
    const { client } = await startEngine(t, name)
    const found = await lines({ client, enforceLocks: true })
    t.equal(
      found.at(-1),
      name === 'dynalite'
        ? '-    TransactWriteItems: this engine has none, so a save may overwrite a field that is locked right before it is sent (EDITION_LOCKS=enforce)'
        : 'ok   TransactWriteItems: works, so a save checks all locks in one moment (EDITION_LOCKS=enforce)'
    )
    t.equal((await client.send(new ScanCommand({ TableName: 'DataState' }))).Count, 0, 'nothing is left')
  })
}

t.test('credentials that may not check conditions are to be mended', async (t) => {
  const at = await aws(t, { TransactWriteItems: fails('AccessDeniedException') })
  t.match(
    (await lines({ ...at, enforceLocks: true })).at(-1),
    /^! {4}TransactWriteItems: .*: give it the policies of config\/aws\/quoin\.yaml$/
  )
  t.match(
    (
      await lines({
        ...(await aws(t, { TransactWriteItems: fails('UnknownOperationException'), DeleteItem: fails('AccessDeniedException') })),
        enforceLocks: true
      })
    ).at(-1),
    /^! {4}TransactWriteItems: UnknownOperationException/
  )
})

t.test('on AWS time to live belongs to it; in every state there is one line', async (t) => {
  const cases: Array<[Script, RegExp]> = [
    [
      (_operation, _input, response) => say(response, 200, { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLED' } }),
      /^! {4}time to live: it is off, so .*: turn it on for removeAt, with npm run table or otherwise$/
    ],
    [
      (_operation, _input, response) =>
        say(response, 200, { TimeToLiveDescription: { TimeToLiveStatus: 'DISABLING', AttributeName: 'removeAt' } }),
      /^! {4}time to live: it is being turned off/
    ],
    [
      (_operation, _input, response) =>
        say(response, 200, { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: 'ttl' } }),
      /^! {4}time to live: it goes by ttl/
    ],
    [fails('UnknownOperationException'), /^! {4}time to live: UnknownOperationException/],
    [fails('AccessDeniedException'), new RegExp(`^- {4}time to live: ${DENIED} DescribeTimeToLive`)]
  ]
  for (const [script, expected] of cases) {
    const at = await aws(t, { DescribeTimeToLive: script })
    t.match(await lines(at), [THERE, expected, WORKS])
  }
  const other = await aws(t, { DescribeTimeToLive: fails('UnknownOperationException') })
  t.match(await lines({ ...other, local: true }), [THERE, '-    time to live: this engine has none, and does not need it', WORKS])
})

t.test('credentials with the least policy may keep locks, and the doctor says what it could not look at', async (t) => {
  const at = await aws(t, { DescribeTable: fails('AccessDeniedException'), DescribeTimeToLive: fails('AccessDeniedException') })
  t.match(await lines(at), [
    new RegExp(`^- {4}table DataState: whether its keys are right: ${DENIED} DescribeTable`),
    new RegExp(`^- {4}time to live: ${DENIED}`),
    WORKS
  ])
})

t.test('each operation that is not allowed is named, and the others are tried', async (t) => {
  for (const operation of ['PutItem', 'GetItem', 'Query', 'DeleteItem']) {
    const at = await aws(t, { [operation]: fails('AccessDeniedException') })
    t.match(await lines(at), [
      THERE,
      /^ok {3}time to live/,
      new RegExp(`^! {4}${operation}: .*: give it the policies of config/aws/quoin.yaml$`)
    ])
    t.strictSame(at.operations.slice(2), ['PutItem', 'GetItem', 'Query', 'DeleteItem'])
  }
})

t.test('a store that loses what it has taken is no store', async (t) => {
  const at = await aws(t, { GetItem: works, Query: works })
  t.match(await lines(at), [
    THERE,
    /^ok {3}time to live/,
    /^! {4}GetItem: the record is not there: a record that was just written cannot be read/,
    /^! {4}Query: the record is not there/
  ])
})

t.test('a store that cannot be reached, or takes no credentials, ends the check of it', async (t) => {
  for (const [name, expected] of [
    ['UnrecognizedClientException', /AWS refuses the credentials/],
    ['InternalServerError', /InternalServerError/]
  ] as const) {
    const at = await aws(t, { DescribeTable: fails(name, name === 'InternalServerError' ? 500 : 400) })
    t.match(await lines(at), [expected])
    t.strictSame(at.operations, ['DescribeTable'])
  }
})
