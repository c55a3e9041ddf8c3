import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, type ScalarTag } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { Environment } from '../../config/env.ts'
import { REMOVE_AT, tableDefinition } from '../../lib/dynamodb/table.ts'
import { dockerignore, execForm, imageFiles } from './fixtures/image.ts'
import { ROOT } from './fixtures/processes.ts'

const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** CloudFormation's short forms that the template uses, as their long ones. */
const customTags: ScalarTag[] = [
  { tag: '!Ref', resolve: (name) => ({ Ref: name }) },
  { tag: '!GetAtt', resolve: (name) => ({ 'Fn::GetAtt': name }) }
]

const template = parse(text('config/aws/quoin.yaml'), { customTags })

t.test('the template makes the table that npm run table makes', async (t) => {
  const { Type, DeletionPolicy, UpdateReplacePolicy, Properties: { TableName, TimeToLiveSpecification, PointInTimeRecoverySpecification, DeletionProtectionEnabled, ...table } } = template.Resources.LockTable
  const { TableName: _, ...definition } = tableDefinition('DataState')
  t.strictSame(table, definition)
  t.strictSame(TimeToLiveSpecification, { AttributeName: REMOVE_AT, Enabled: true })
  t.strictSame(PointInTimeRecoverySpecification, { PointInTimeRecoveryEnabled: true })
  t.strictSame({ Type, DeletionPolicy, UpdateReplacePolicy, DeletionProtectionEnabled }, { Type: 'AWS::DynamoDB::Table', DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain', DeletionProtectionEnabled: true })
  t.strictSame(TableName, { Ref: 'TableName' })
  const { Default, AllowedPattern } = template.Parameters.TableName
  t.strictSame({ Default, AllowedPattern }, { Default: Environment.properties.DATA_STATE_TABLE.default, AllowedPattern: Environment.properties.DATA_STATE_TABLE.pattern!.slice(1, -1) })
})

t.test('the policies allow what the code calls, each on this table alone, and nothing else', async (t) => {
  const actions = (policy: string) => {
    const { Statement, Version } = template.Resources[policy].Properties.PolicyDocument
    t.equal(Version, '2012-10-17')
    t.equal(Statement.length, 1)
    t.match(Statement[0], { Effect: 'Allow', Resource: { 'Fn::GetAtt': 'LockTable.Arn' } })
    return Statement[0].Action as string[]
  }
  const called = (files: string[]) => {
    const commands = files.flatMap((path) => [...text(path).matchAll(/new (\w+)Command\(/g)].map(([, command]) => command!))
    return [...new Set(commands.map((command) => `dynamodb:${itemOperation[command] ?? command}`))].sort()
  }
  // The document client's commands have shorter names.
  const itemOperation: Record<string, string> = { Put: 'PutItem', Get: 'GetItem', Delete: 'DeleteItem', Update: 'UpdateItem' }
  const setUp = ['lib/dynamodb/table.ts', 'lib/dynamodb/provision.ts', ...globSync('lib/doctor/*.ts', { cwd: ROOT })]
  const service = globSync('{lib,plugins}/**/*.ts', { cwd: ROOT }).filter((path) => !setUp.includes(path))
  t.strictSame(actions('ServicePolicy'), called(service))
  t.strictSame(called(service), ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'])
  t.strictSame(actions('SetupPolicy'), called(setUp).filter((action) => !called(service).includes(action)))
  t.ok(actions('SetupPolicy').length > 0)
})

t.test('the image has what production needs, and no more', async (t) => {
  const { first, named, ignored } = dockerignore()
  t.equal(first, '*', 'what is not named stays out')
  for (const path of [...named, ...ignored]) t.ok(globSync(path, { cwd: ROOT }).length > 0, `${path} is there`)
  const files = imageFiles()
  for (const needed of ['server.ts', 'app.ts', 'doctor.ts', 'table.ts', 'package.json', 'config/node-version.cjs', 'config/content-model.json', 'lib/locks/locks.ts', 'packages/desk/index.html', 'packages/desk/main.ts', 'packages/client/src/client.ts']) t.ok(files.includes(needed), needed)
  t.strictSame(files.filter((path) => /^(?:test|dev|node_modules|\.|config\/aws)/.test(path) || /\.(?:md|log)$|\.env/.test(path)), [])
  const dockerfile = text('Dockerfile')
  for (const [, sources] of dockerfile.matchAll(/^COPY (.*) \S+$/gm)) for (const source of sources!.split(' ')) t.ok(source === '.' || files.includes(source), `COPY ${source}`)
  t.match(dockerfile, /^FROM node:24-/m)
  t.match(dockerfile, /^RUN npm ci --omit=dev --omit=optional /m)
  t.match(dockerfile, /^ENV HOST=0\.0\.0\.0 METRICS_HOST=0\.0\.0\.0$/m)
  t.ok(dockerfile.indexOf('\nUSER 1000\n') > dockerfile.lastIndexOf('\nRUN '), 'it does not run as root')
  t.strictSame(`exec ${execForm(/^CMD (\[.*\])$/m).join(' ')}`, manifest.scripts.start, 'it starts as npm start does, without npm, so that SIGTERM arrives')
})

const compose = parse(text('compose.yaml'))

t.test('compose.yaml has settings that exist, no secrets, and ports of this machine alone', async (t) => {
  const { quoin, table, dynamodb } = compose.services
  for (const [name, { environment = {}, ports = [] }] of Object.entries<any>(compose.services)) {
    for (const [setting, value] of Object.entries(environment)) {
      t.ok(Object.hasOwn(Environment.properties, setting), `${name}: ${setting}`)
      if (/PASSWORD|SECRET/.test(setting)) t.equal(value, null, `${setting} comes from outside`)
    }
    for (const port of ports) t.match(port, /^127\.0\.0\.1:/, `${name}: ${port}`)
  }
  t.strictSame(Object.keys(quoin.environment).sort(), Object.keys(Environment.properties).sort(), 'every setting is passed on')
  const { HOST, PORT, METRICS_HOST, DYNAMODB_ENDPOINT, ...others } = quoin.environment
  t.strictSame({ HOST, PORT, METRICS_HOST }, { HOST: '0.0.0.0', PORT: '3000', METRICS_HOST: '0.0.0.0' }, 'what would leave the container out of reach is not')
  for (const [name, value] of Object.entries(others)) if (value !== null) t.match(value, new RegExp(`^\\$\\{${name}:[-?].+\\}$`), `${name} comes from outside`)
  t.strictSame(table.environment, { DYNAMODB_ENDPOINT, DATA_STATE_TABLE: null, AWS_REGION: null }, 'both have the same table')
  t.equal(`exec ${table.command.join(' ')}`, manifest.scripts.table)
  t.match({ quoin, table, dynamodb }, {
    quoin: { build: '.', depends_on: { table: { condition: 'service_completed_successfully' } } },
    table: { build: '.', depends_on: { dynamodb: { condition: 'service_healthy' } } },
    dynamodb: { image: /^amazon\/dynamodb-local:\d/, healthcheck: {} }
  })
})
