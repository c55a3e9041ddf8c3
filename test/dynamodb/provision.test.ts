import { CreateTableCommand, DescribeTableCommand, DescribeTimeToLiveCommand, type CreateTableCommandInput } from '@aws-sdk/client-dynamodb'
import t, { type Test } from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { advice } from '../../packages/setup/table/advice.ts'
import { createStore } from '#lib/table/client.ts'
import { provision } from '../../packages/setup/table/provision.ts'
import { REMOVE_AT, tableDefinition } from '#lib/table/definition.ts'
import { line, report } from '../../packages/setup/diagnosis.ts'
import { commandFor, installCommandFor } from '#lib/package-root.ts'
import { engineNames, startEngine } from '../locks/fixtures/engines.ts'
import { fails, say, startFakeEngine, type Script } from '../locks/fixtures/fake-engine.ts'

const KEYS = 'partition key env_entityType_entityId (S), sort key fieldName (S)'
const definition = tableDefinition('DataState')
const active = { ...definition, TableStatus: 'ACTIVE' }

async function lines(at: Parameters<typeof provision>[0]): Promise<string[]> {
  const lines: string[] = []
  const right = await report(provision(at), (text) => lines.push(text))
  t.equal(right, !lines.some((text) => text.startsWith('!')))
  return lines
}

/** What AWS holds of one table, and what was asked to change. */
interface Table {
  description?: object
  timeToLive?: object
  recovery?: string
  unavailable?: number
  changes: string[]
}

/** DynamoDB's control plane as AWS's, as far as it is used here, over one table. */
function aws(table: Table): Script {
  return (operation, input, response) => {
    if (/^(?:Create|Update)/.test(operation)) table.changes.push(operation)
    switch (operation) {
      case 'DescribeTable':
        return table.description
          ? say(response, 200, { Table: table.description })
          : fails('ResourceNotFoundException')(operation, input, response)
      case 'CreateTable':
        if (table.description) return fails('ResourceInUseException')(operation, input, response)
        table.description = { ...input, TableStatus: 'ACTIVE' }
        return say(response, 200, { TableDescription: table.description })
      case 'DescribeTimeToLive':
        return say(response, 200, { TimeToLiveDescription: table.timeToLive ?? { TimeToLiveStatus: 'DISABLED' } })
      case 'UpdateTimeToLive':
        table.timeToLive = { TimeToLiveStatus: 'ENABLING', AttributeName: input.TimeToLiveSpecification.AttributeName }
        return say(response, 200, input)
      case 'DescribeContinuousBackups':
        return say(response, 200, {
          ContinuousBackupsDescription: {
            ContinuousBackupsStatus: 'ENABLED',
            PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: table.recovery ?? 'DISABLED' }
          }
        })
      case 'UpdateContinuousBackups':
        if (table.unavailable) {
          table.unavailable--
          return fails('ContinuousBackupsUnavailableException')(operation, input, response)
        }
        table.recovery = input.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled ? 'ENABLED' : 'DISABLED'
        return say(response, 200, {})
    }
    return fails('UnknownOperationException')(operation, input, response)
  }
}

async function at(t: Test, script: Script) {
  const engine = await startFakeEngine(t)
  engine.script = script
  const { client, destroy } = createStore({ region: 'eu-central-1', endpoint: engine.endpoint, attempts: 1 })
  t.teardown(destroy)
  return { client, table: 'DataState', local: false, pauseMs: 1 }
}

for (const name of engineNames) {
  t.test(`${name}: the table is made, then found as it is, and what the engine does not have is said`, async (t) => {
    const { client } = await startEngine(t, name)
    const made = { client, table: 'Locks.of-us', local: true }
    const ttl =
      name === 'dynoxide' ? 'ok   time to live: turned on, by removeAt' : '-    time to live: this engine has none, and does not need it'
    const recovery = '-    point-in-time recovery: this engine has none, and does not need it'
    t.strictSame(await lines(made), [`ok   table Locks.of-us: made, with on-demand capacity, ${KEYS}`, ttl, recovery])
    t.strictSame(await lines(made), [`ok   table Locks.of-us: is there, ${KEYS}`, ttl.replace('turned on', 'is on'), recovery])
    const { Table } = await client.send(new DescribeTableCommand({ TableName: 'Locks.of-us' }))
    t.match(Table, { KeySchema: definition.KeySchema, BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' } })
    if (name === 'dynoxide') {
      const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: 'Locks.of-us' }))
      t.match(TimeToLiveDescription, { TimeToLiveStatus: 'ENABLED', AttributeName: REMOVE_AT })
    }
  })

  t.test(`${name}: a table with other keys is refused and left as it is`, async (t) => {
    const { client } = await startEngine(t, name)
    const others: Array<[Partial<CreateTableCommandInput>, string]> = [
      [
        { AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] },
        'partition key id (S)'
      ],
      [
        { AttributeDefinitions: [definition.AttributeDefinitions![0]!, { AttributeName: 'fieldName', AttributeType: 'N' }] },
        'partition key env_entityType_entityId (S), sort key fieldName (N)'
      ],
      [
        {
          KeySchema: [
            { AttributeName: 'fieldName', KeyType: 'HASH' },
            { AttributeName: 'env_entityType_entityId', KeyType: 'RANGE' }
          ]
        },
        'partition key fieldName (S), sort key env_entityType_entityId (S)'
      ]
    ]
    for (const [index, [other, keys]] of others.entries()) {
      const table = `Other${index}`
      await client.send(new CreateTableCommand({ ...definition, ...other, TableName: table }))
      t.strictSame(await lines({ client, table, local: true }), [
        `!    table ${table}: it has ${keys}; wanted: ${KEYS}: name another table in DATA_STATE_TABLE; nothing was changed in this one`
      ])
      const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: table }))
      t.equal(TimeToLiveDescription?.TimeToLiveStatus, 'DISABLED')
    }
  })
}

t.test('on AWS all of it is made once; backups of a new table are waited for', async (t) => {
  const table: Table = { changes: [], unavailable: 2 }
  const store = await at(t, aws(table))
  t.strictSame(await lines(store), [
    `ok   table DataState: made, with on-demand capacity, ${KEYS}`,
    'ok   time to live: turned on, by removeAt',
    'ok   point-in-time recovery: turned on'
  ])
  t.strictSame(table.changes.splice(0), [
    'CreateTable',
    'UpdateTimeToLive',
    'UpdateContinuousBackups',
    'UpdateContinuousBackups',
    'UpdateContinuousBackups'
  ])
  t.match(table.description, { BillingMode: 'PAY_PER_REQUEST' })
  t.strictSame(await lines(store), [
    `ok   table DataState: is there, ${KEYS}`,
    'ok   time to live: is on, by removeAt',
    'ok   point-in-time recovery: is on'
  ])
  t.strictSame(table.changes, [], 'the second time nothing changes')
})

t.test('what is there already but not yet as it should be', async (t) => {
  const cases: Array<[what: string, Table, expected: RegExp[], changes: string[]]> = [
    [
      'provisioned capacity is kept',
      { description: { ...active, BillingMode: 'PROVISIONED' }, changes: [] },
      [/^ok {3}table DataState: is there/, /^ok {3}time to live: turned on/, /^ok {3}point/],
      ['UpdateTimeToLive', 'UpdateContinuousBackups']
    ],
    [
      'time to live by another attribute',
      { description: active, timeToLive: { TimeToLiveStatus: 'ENABLED', AttributeName: 'ttl' }, changes: [] },
      [/^ok/, /^! {4}time to live: it goes by ttl: turn it off if nothing else needs it/, /^ok/],
      ['UpdateContinuousBackups']
    ],
    [
      'time to live on its way out',
      { description: active, timeToLive: { TimeToLiveStatus: 'DISABLING', AttributeName: REMOVE_AT }, recovery: 'ENABLED', changes: [] },
      [/^ok/, /^! {4}time to live: it is being turned off: try again in an hour/, /^ok/],
      []
    ],
    [
      'a table on its way out',
      { description: { ...active, TableStatus: 'DELETING' }, changes: [] },
      [/^! {4}table DataState: it is being deleted: try again when it is gone$/],
      []
    ],
    [
      'backups that never come',
      { description: active, unavailable: 100, changes: [] },
      [/^ok/, /^ok/, /^! {4}point-in-time recovery: ContinuousBackupsUnavailableException: /],
      ['UpdateTimeToLive', ...Array(20).fill('UpdateContinuousBackups')]
    ]
  ]
  for (const [what, table, expected, changes] of cases) {
    t.match(await lines(await at(t, aws(table))), expected, what)
    t.strictSame(table.changes, changes, what)
  }
})

t.test('a table that somebody else is making is waited for', async (t) => {
  const table: Table = { description: { ...active, TableStatus: 'CREATING' }, changes: [] }
  const script = aws(table)
  t.match(
    await lines(
      await at(t, (operation, input, response) => {
        script(operation, input, response)
        if (operation === 'CreateTable') table.description = active
      })
    ),
    [/^ok {3}table DataState: is there/, /^ok/, /^ok/]
  )
})

t.test('each step says why it failed, and the others are still done', async (t) => {
  const table: Table = { description: active, changes: [] }
  const script = aws(table)
  const denied: Script = (operation, input, response) =>
    operation === 'UpdateTimeToLive'
      ? say(response, 400, {
          __type: 'com.amazon.coral.service#AccessDeniedException',
          Message: 'User: arn:aws:iam::1:user/quoin is not authorized to perform: dynamodb:UpdateTimeToLive'
        })
      : script(operation, input, response)
  t.strictSame(await lines(await at(t, denied)), [
    `ok   table DataState: is there, ${KEYS}`,
    '!    time to live: User: arn:aws:iam::1:user/quoin is not authorized to perform: dynamodb:UpdateTimeToLive: give it the policies of config/aws/quoin.yaml',
    'ok   point-in-time recovery: turned on'
  ])
  const store = await at(t, (operation, input, response) =>
    operation === 'DescribeTable' ? say(response, 200, { Table: active }) : fails('UnknownOperationException')(operation, input, response)
  )
  t.match(
    await lines(store),
    [/^ok/, /^! {4}time to live: UnknownOperationException/, /^! {4}point-in-time recovery: UnknownOperationException/],
    'AWS itself has them'
  )
})

t.test('a store that cannot be used is one line that says what to do', async (t) => {
  const cases: Array<[Script, RegExp]> = [
    [
      fails('UnrecognizedClientException'),
      /^! {4}table DataState: AWS refuses the credentials \(UnrecognizedClientException\): renew or correct them/
    ],
    [fails('InvalidSignatureException'), /^! {4}table DataState: AWS refuses the credentials \(InvalidSignatureException\)/],
    [fails('ExpiredTokenException'), /^! {4}table DataState: AWS refuses the credentials \(ExpiredTokenException\)/],
    [fails('AccessDeniedException'), /^! {4}table DataState: .*: give it the policies of config\/aws\/quoin\.yaml$/],
    [fails('ValidationException'), /^! {4}table DataState: ValidationException: SECRET-MESSAGE table\/DataState$/],
    [
      (_operation, _input, response) => {
        response.socket!.destroy()
      },
      /^! {4}table DataState: there was no answer \(.+\): correct AWS_REGION or DYNAMODB_ENDPOINT, or check the network from here$/
    ]
  ]
  for (const [script, expected] of cases) {
    const found = await lines(await at(t, script))
    t.equal(found.length, 1)
    t.match(found[0], expected)
  }
  t.match(
    line(advice('table X', Object.assign(new Error('Could not load'), { name: 'CredentialsProviderError' }))),
    /^! {4}table X: there are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID/
  )
  t.match(
    line(advice('table X', Object.assign(new Error('gone'), { name: 'ResourceNotFoundException' }))),
    /^! {4}table X: there is no such table: make it with npm run table/
  )
  t.equal(
    line(advice('table X', Object.assign(new Error('late'), { name: 'TimeoutError' }))),
    '!    table X: there was no answer: correct AWS_REGION or DYNAMODB_ENDPOINT, or check the network from here'
  )
})

t.test('what to do is said as a clone runs it, or an installed package', async (t) => {
  t.strictSame(
    [commandFor('table'), commandFor('table', '/project/node_modules/quoin/dist/lib/package-root.js')],
    ['npm run table', 'npx --no -- quoin table']
  )
  const installed = '/project/node_modules/quoin/dist/lib/package-root.js'
  const { peerDependencies: peers } = manifest
  t.equal(installCommandFor('ioredis'), 'npm run install:optional')
  t.equal(installCommandFor('ioredis', installed), `npm install ioredis@${peers.ioredis}`)
  t.equal(
    installCommandFor('@opentelemetry/core', installed),
    `npm install ${Object.entries(peers)
      .filter(([name]) => name.startsWith('@opentelemetry/'))
      .map((peer) => peer.join('@'))
      .join(' ')}`,
    'packages of OpenTelemetry go together'
  )
  t.equal(installCommandFor('pino-pretty', installed), 'npm install pino-pretty')
})
