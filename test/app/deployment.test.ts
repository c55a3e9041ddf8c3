import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, type ScalarTag } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { BODY_LIMIT } from '../../config/fastify.ts'
import { HEARTBEAT_MS } from '../../lib/locks/feed-context.ts'
import { OAUTH_CLIENT } from '../../config/cms-auth.ts'
import { Environment, readConfig, type Config } from '../../config/env.ts'
import { fileOf, SECRETS } from '../../config/secret-files.ts'
import { TelemetryEnvironment } from '../../config/telemetry.ts'
import { GRACE_MS } from '../../server.ts'
import { REMOVE_AT, tableDefinition } from '#lib/table/definition.ts'
import { build, problemsOf } from '../helper.ts'
import { dockerignore, execForm, imageFiles } from './fixtures/image.ts'
import { ROOT } from './fixtures/processes.ts'

const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** CloudFormation's short forms that the template uses, as their long ones. */
const customTags: ScalarTag[] = [
  { tag: '!Ref', resolve: (name) => ({ Ref: name }) },
  { tag: '!Sub', resolve: (text) => ({ 'Fn::Sub': text }) },
  { tag: '!GetAtt', resolve: (name) => ({ 'Fn::GetAtt': name }) }
]

const template = parse(text('config/aws/quoin.yaml'), { customTags })

t.test('the template makes the table that npm run table makes', async (t) => {
  const {
    Type,
    DeletionPolicy,
    UpdateReplacePolicy,
    Properties: {
      TableName,
      TimeToLiveSpecification,
      PointInTimeRecoverySpecification,
      DeletionProtectionEnabled,
      SSESpecification,
      ...table
    }
  } = template.Resources.LockTable
  const { TableName: _, ...definition } = tableDefinition('DataState')
  t.strictSame(table, definition)
  t.strictSame(TimeToLiveSpecification, { AttributeName: REMOVE_AT, Enabled: true })
  t.strictSame(PointInTimeRecoverySpecification, { PointInTimeRecoveryEnabled: true })
  t.strictSame(
    { Type, DeletionPolicy, UpdateReplacePolicy, DeletionProtectionEnabled },
    { Type: 'AWS::DynamoDB::Table', DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain', DeletionProtectionEnabled: true }
  )
  t.strictSame(SSESpecification, {
    'Fn::If': ['HasKmsKey', { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: { Ref: 'KmsKeyArn' } }, { Ref: 'AWS::NoValue' }]
  })
  t.strictSame(TableName, { Ref: 'TableName' })
  const { Default, AllowedPattern } = template.Parameters.TableName
  t.strictSame(
    { Default, AllowedPattern },
    {
      Default: Environment.properties.DATA_STATE_TABLE.default,
      AllowedPattern: Environment.properties.DATA_STATE_TABLE.pattern!.slice(1, -1)
    }
  )
})

/** The statements of a policy of the template: the first, and what others there are. */
function statements(t: Test, policy: string) {
  const {
    Statement: [first, ...more],
    Version
  } = template.Resources[policy].Properties.PolicyDocument
  t.equal(Version, '2012-10-17')
  t.match(first, { Effect: 'Allow', Resource: { 'Fn::GetAtt': 'LockTable.Arn' } })
  return { actions: first.Action as string[], more }
}

t.test('the policies allow what the code calls, each on this table alone, and nothing else', async (t) => {
  const called = (files: string[]) => {
    // A transaction needs the permissions of what it does.
    const transactions = files.flatMap((path) =>
      [...text(path).matchAll(/\{\s*(\w+): \{\s*TableName\b/g)].flatMap(([, action]) => itemOperation[action!] ?? [])
    )
    const commands = files.flatMap((path) => [...text(path).matchAll(/new (\w+)Command\(/g)].map(([, command]) => command!))
    return [
      ...new Set(
        [
          ...commands.filter((command) => command !== 'TransactWrite').map((command) => itemOperation[command] ?? command),
          ...transactions
        ].map((operation) => `dynamodb:${operation}`)
      )
    ].sort()
  }
  // The document client's commands, and the parts of a transaction, have shorter names.
  const itemOperation: Record<string, string> = {
    Put: 'PutItem',
    Get: 'GetItem',
    Delete: 'DeleteItem',
    Update: 'UpdateItem',
    ConditionCheck: 'ConditionCheckItem'
  }
  const setUp = ['lib/table/definition.ts', ...globSync('packages/setup/{*,!(test)/**/*}.ts', { cwd: ROOT })]
  const service = globSync('{lib,plugins}/**/*.ts', { cwd: ROOT }).filter((path) => !setUp.includes(path))
  const allowed = { service: statements(t, 'ServicePolicy'), setUp: statements(t, 'SetupPolicy') }
  t.strictSame(allowed.service.actions, called(service))
  t.strictSame(called(service), [
    'dynamodb:ConditionCheckItem',
    'dynamodb:DeleteItem',
    'dynamodb:GetItem',
    'dynamodb:PutItem',
    'dynamodb:Query'
  ])
  t.strictSame(
    allowed.setUp.actions,
    called(setUp).filter((action) => !called(service).includes(action))
  )
  t.ok(allowed.setUp.actions.length > 0)
  t.strictSame(allowed.setUp.more, [])
  t.strictSame(
    allowed.service.more,
    [
      {
        'Fn::If': [
          'HasKmsKey',
          {
            Effect: 'Allow',
            Action: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey*', 'kms:ReEncrypt*'],
            Resource: { Ref: 'KmsKeyArn' },
            Condition: { StringEquals: { 'kms:ViaService': { 'Fn::Sub': ['dynamodb.', '{AWS::Region}.amazonaws.com'].join('$') } } }
          },
          { Ref: 'AWS::NoValue' }
        ]
      }
    ],
    'a key of KMS, by way of DynamoDB alone'
  )
})

/** The operations that the service calls, as alarms name them: a check of a condition is part of a transaction. */
function operationsOf(actions: string[]): string[] {
  return [...actions.map((action) => action.replace('dynamodb:', '')).filter((name) => name !== 'ConditionCheckItem'), 'TransactWriteItems']
}

/** What an alarm adds up: the name of each metric, and the operation if it is of one. */
type Summed = Array<[metric: string, operation?: string]>

t.test('the alarms are for throttles, for what DynamoDB fails at and for what it refuses', async (t) => {
  const alarms = Object.entries<any>(template.Resources).filter(([, { Type }]) => Type === 'AWS::CloudWatch::Alarm')
  const summed = alarms.map(
    ([
      name,
      {
        Condition,
        Properties: {
          Metrics: [sum, ...metrics],
          AlarmActions
        }
      }
    ]) => {
      t.equal(Condition, 'HasAlarms', name)
      t.strictSame(AlarmActions, [{ Ref: 'AlarmTopicArn' }])
      t.match(sum, { Expression: 'SUM(FILL(METRICS(), 0))', ReturnData: true })
      return metrics.map(
        ({
          ReturnData,
          MetricStat: {
            Metric: { Namespace, MetricName, Dimensions = [] }
          }
        }: any) => {
          t.strictSame({ ReturnData, Namespace }, { ReturnData: false, Namespace: 'AWS/DynamoDB' })
          const { TableName, ...others } = Object.fromEntries(Dimensions.map(({ Name, Value }: any) => [Name, Value]))
          // Those of UserErrors are of the account and its region.
          t.strictSame(TableName, MetricName === 'UserErrors' ? undefined : { Ref: 'LockTable' })
          return [MetricName, ...Object.values(others)]
        }
      )
    }
  )
  const operations = operationsOf(statements(t, 'ServicePolicy').actions)
  const wanted: Summed[] = [
    [['ReadThrottleEvents'], ['WriteThrottleEvents']],
    operations.map((name) => ['SystemErrors', name]),
    [['UserErrors']]
  ]
  t.strictSame(summed, wanted)
})

const terraform = text('config/terraform/quoin.tf')

/** A top-level block of the Terraform configuration, which has a line of its own for its end. */
function block(kind: string, ...labels: string[]): string {
  const head = [kind, ...labels.map((label) => `"${label}"`)].join(' ')
  const [, body] = terraform.split(`\n${head} {\n`) as [string, string?]
  if (body === undefined) throw new Error(`${head} is not there`)
  return body.slice(0, body.indexOf('\n}\n'))
}

/** The texts of every list of this name in a block. */
function lists(name: string, body: string): string[][] {
  return [...body.matchAll(new RegExp(`^ *${name}\\s*= \\[([^\\]]*)\\]$`, 'gm'))].map(([, items]) =>
    [...items!.matchAll(/"([^"]*)"/g)].map(([, item]) => item!)
  )
}

t.test('Terraform makes the same table, with the same policies and alarms', async (t) => {
  const { KeySchema, AttributeDefinitions, BillingMode } = tableDefinition('DataState')
  const table = block('resource', 'aws_dynamodb_table', 'locks')
  const values = Object.fromEntries([...table.matchAll(/^ +(\w+) += (.*)$/gm)].map(([, name, value]) => [name, value!.replaceAll('"', '')]))
  t.match(values, {
    hash_key: KeySchema![0]!.AttributeName,
    range_key: KeySchema![1]!.AttributeName,
    billing_mode: BillingMode,
    attribute_name: REMOVE_AT,
    deletion_protection_enabled: 'true',
    prevent_destroy: 'true'
  })
  t.strictSame(
    [...table.matchAll(/attribute \{\n +name = "(\w+)"\n +type = "(\w+)"/g)].map(([, AttributeName, AttributeType]) => ({
      AttributeName,
      AttributeType
    })),
    AttributeDefinitions
  )
  for (const name of ['ttl', 'point_in_time_recovery']) t.match(table, new RegExp(`^  ${name} \\{[^}]* enabled *= true$`, 'm'))
  t.match(block('variable', 'table_name'), `default     = "${Environment.properties.DATA_STATE_TABLE.default}"`)
  t.match(block('variable', 'table_name'), Environment.properties.DATA_STATE_TABLE.pattern!)
  for (const [variable, parameter] of [
    ['kms_key_arn', 'KmsKeyArn'],
    ['alarm_topic_arn', 'AlarmTopicArn']
  ] as const) {
    const [, pattern] = /^\((.*)\)\?$/.exec(template.Parameters[parameter].AllowedPattern)!
    t.match(block('variable', variable), `regex("^${pattern}$", var.${variable})`, 'what is not an ARN is refused before anything is made')
  }

  const {
    actions,
    more: [
      {
        'Fn::If': [, key]
      }
    ]
  } = statements(t, 'ServicePolicy')
  const service = block('data', 'aws_iam_policy_document', 'service')
  t.strictSame(lists('actions', service), [actions, key.Action])
  t.match(service, '  resources = [aws_dynamodb_table.locks.arn]\n')
  t.match(service, 'resources = [statement.value]\n')
  t.match(service, 'variable = "kms:ViaService"')
  const setUp = block('data', 'aws_iam_policy_document', 'setup')
  t.strictSame(lists('actions', setUp), [statements(t, 'SetupPolicy').actions])
  t.equal(terraform.match(/\bactions\b/g)!.length, 3, 'no other policy')
  t.notMatch(terraform, /resources\s+= \["\*"\]|\bnot_actions\b/)

  const alarms = block('locals')
  t.strictSame(
    [...alarms.matchAll(/for name in \[([^\]]*)\]/g)].map(([, names]) => [...names!.matchAll(/"(\w+)"/g)].map(([, name]) => name)),
    [['ReadThrottleEvents', 'WriteThrottleEvents'], operationsOf(actions)]
  )
  t.match(alarms, 'name = "UserErrors", dimensions = {}')
})

/** The image's own user, port and check. */
const image = {
  user: Number(/^USER (\d+)$/m.exec(text('Dockerfile'))![1]),
  port: Number(/^EXPOSE (\d+)$/m.exec(text('Dockerfile'))![1]),
  check: () => execForm(/^ {2}CMD (\[.*\])$/m)
}

/** What a container may be given: the settings, what others call so, and the files of secrets. */
const SETTINGS = [
  ...new Set([...Object.keys(Environment.properties), ...Object.keys(TelemetryEnvironment), ...OAUTH_CLIENT, ...SECRETS.map(fileOf)])
]
const isSetting = (name: string) => SETTINGS.includes(name)

/** Settings of a manifest: each exists, none is a secret, and Quoin starts with them. */
function takes(t: Test, where: string, settings: Array<[name: string, value: string]>, secrets: string[] = []): Config {
  for (const [name] of settings) t.ok(isSetting(name), `${where}: ${name}`)
  for (const name of secrets) t.ok((SECRETS as readonly string[]).includes(name), `${where}: ${name} is a secret`)
  for (const name of SECRETS) {
    t.notOk(
      settings.some(([set]) => set === name),
      `${where}: ${name} comes from outside`
    )
  }
  const env = { ...Object.fromEntries(settings), ...Object.fromEntries(secrets.map((name) => [name, 'secret'])) }
  t.strictSame(problemsOf(env), [], where)
  return readConfig(env)
}

/** The manifests of a directory, by the names of their files; its kustomization has them all. */
function manifestsIn(directory: string): any[] {
  const files = globSync(`${directory}/*.yaml`, { cwd: ROOT }).filter((path) => !path.endsWith('kustomization.yaml'))
  const { resources } = parse(text(`${directory}/kustomization.yaml`))
  t.strictSame(resources.filter((name: string) => name.endsWith('.yaml')).sort(), files.map((path) => basename(path)).sort(), directory)
  return files.sort().map((path) => parse(text(path)))
}

t.test('the manifests for Kubernetes fit the service and each other', async (t) => {
  const manifests = manifestsIn('config/kubernetes')
  t.strictSame(
    manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
    ['apps/v1 Deployment', 'policy/v1 PodDisruptionBudget', 'v1 ServiceAccount', 'v1 Service']
  )
  const [deployment, budget, account, service] = manifests
  const {
    replicas,
    selector,
    template: { metadata, spec: pod }
  } = deployment.spec
  const [container, ...others] = pod.containers
  t.strictSame(others, [])

  t.ok(replicas > budget.spec.maxUnavailable, 'one instance stays')
  for (const labels of [selector.matchLabels, budget.spec.selector.matchLabels, service.spec.selector]) {
    t.strictSame(labels, metadata.labels)
  }
  t.equal(pod.serviceAccountName, account.metadata.name)
  t.equal(pod.enableServiceLinks, false, 'no Service of another name becomes a setting')
  t.equal(container.image.split(':')[1], manifest.version)

  const config = takes(
    t,
    'kubernetes',
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value])
  )
  const more = [...text('config/kubernetes/deployment.yaml').matchAll(/# - name: (\w+)\n +# +value: (\S+)$/gm)].map(
    ([, name, value]) => [name!, value!] as const
  )
  t.strictSame(
    more.map(([name]) => name),
    ['CMS_PASSWORD_FILE', 'EVENTS_BUS_URL_FILE']
  )
  const [{ mountPath }] = container.volumeMounts
  for (const [name, value] of more) {
    t.ok(isSetting(name), name)
    t.ok(text('docs/operations.md').includes(`--from-file=${value.slice(mountPath.length + 1)}`), `${value} is in the secret`)
  }
  const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: any) => [name, containerPort]))
  t.strictSame(ports, { http: config.port, metrics: config.metrics!.port })
  t.equal(config.port, image.port)
  t.match(metadata.annotations, { 'prometheus.io/port': String(ports.metrics), 'prometheus.io/path': '/metrics' })
  t.strictSame(
    service.spec.ports.map(({ targetPort }: any) => targetPort),
    ['http'],
    'metrics stay inside'
  )

  const app = await build(t)
  const probes = Object.entries<any>(container).filter(([name]) => name.endsWith('Probe'))
  t.strictSame(probes.map(([name]) => name).sort(), ['livenessProbe', 'readinessProbe'])
  for (const [name, { httpGet }] of probes) {
    t.match(httpGet, { path: '/health/live', port: 'http' }, `${name} does not fail while Drupal is down`)
  }
  t.ok(app.hasRoute({ method: 'GET', url: '/health/live' }))

  const [, pause] = container.lifecycle.preStop.exec.command
  t.ok(pod.terminationGracePeriodSeconds > Number(pause) + GRACE_MS / 1000, 'it may finish what runs')
  t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: image.user, seccompProfile: { type: 'RuntimeDefault' } })
  t.match(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  t.ok(container.resources.requests.cpu && container.resources.requests.memory && container.resources.limits.memory)
})

t.test('what lets browsers in fits the instances', async (t) => {
  const directory = 'config/kubernetes-public'
  const [autoscaler, ingress, metrics, policy, monitor, ...others] = manifestsIn(directory)
  t.strictSame(others, [])
  const [deployment, budget, , service] = manifestsIn('config/kubernetes')
  const { resources, patches } = parse(text(`${directory}/kustomization.yaml`))
  t.ok(resources.includes('../kubernetes'))
  const { name, labels } = deployment.metadata
  const ports: string[] = deployment.spec.template.spec.containers[0].ports.map((port: any) => port.name)
  for (const { apiVersion, kind, metadata, spec, ...more } of [autoscaler, ingress, metrics, policy, monitor]) {
    t.match({ apiVersion, kind, spec }, { apiVersion: /^[a-z0-9./]+$/, kind: /^[A-Z]/, spec: Object })
    t.strictSame(more, {}, kind)
    t.match(metadata.labels, labels, kind)
  }

  t.match(autoscaler, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    spec: { scaleTargetRef: { kind: 'Deployment', name } }
  })
  t.ok(autoscaler.spec.minReplicas > budget.spec.maxUnavailable && autoscaler.spec.maxReplicas > autoscaler.spec.minReplicas)
  t.match(parse(patches[0].patch), [{ op: 'remove', path: '/spec/replicas' }], 'a rollout leaves the number to the autoscaler')
  t.match(patches[0].target, { kind: 'Deployment', name })
  t.ok(deployment.spec.template.spec.containers[0].resources.requests.cpu, 'of which it counts a share')

  const [rule] = ingress.spec.rules
  t.strictSame(ingress.spec.tls[0].hosts, [rule.host], 'browsers speak HTTP/2 with TLS alone')
  const { name: backend, port } = rule.http.paths[0].backend.service
  t.strictSame([backend, port.name], [service.metadata.name, service.spec.ports[0].name])
  const annotations = Object.fromEntries(
    Object.entries<string>(ingress.metadata.annotations).map(([key, value]) => [key.replace('nginx.ingress.kubernetes.io/', ''), value])
  )
  t.ok(Number(annotations['proxy-read-timeout']) * 1000 > 2 * HEARTBEAT_MS, 'a stream outlives two heartbeats')
  t.ok(Number.parseInt(annotations['proxy-body-size']!) * 1024 * 1024 > BODY_LIMIT)
  t.match(annotations, { 'proxy-buffering': 'off', 'proxy-next-upstream': 'off' })

  t.strictSame(policy.spec.podSelector.matchLabels, labels)
  t.strictSame(
    policy.spec.ingress.map(({ ports }: any) => ports.map(({ port }: any) => port)),
    [['http'], ['metrics']],
    'callers and Prometheus reach one port each'
  )
  for (const port of policy.spec.ingress.flatMap(({ ports }: any) => ports)) t.ok(ports.includes(port.port))
  t.ok(
    policy.spec.ingress.every(({ from }: any) => from.length > 0),
    'nobody else'
  )

  t.match(metrics.spec, { clusterIP: 'None', selector: labels, ports: [{ name: 'metrics', targetPort: 'metrics' }] })
  t.match(metrics.metadata.labels, monitor.spec.selector.matchLabels)
  t.notMatch(service.metadata.labels, monitor.spec.selector.matchLabels, 'the Service of callers is not asked')
  t.strictSame(monitor.spec.endpoints, [{ port: 'metrics', path: '/metrics' }])
  t.equal(metrics.metadata.labels[monitor.spec.jobLabel], 'quoin', 'the job of the rules')
})

t.test(
  'kustomize makes both sets of manifests',
  { skip: spawnSync('kubectl', ['version', '--client']).status !== 0 && 'there is no kubectl' },
  async (t) => {
    for (const [directory, kinds] of [
      ['config/kubernetes', 4],
      ['config/kubernetes-public', 9]
    ] as const) {
      const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', directory], { cwd: ROOT, encoding: 'utf8' })
      t.equal(status, 0, stderr)
      t.equal(stdout.match(/^kind: /gm)!.length, kinds, directory)
      t.equal(/^ {2}replicas: /m.test(stdout), kinds === 4)
    }
  }
)

t.test('the task definition for ECS fits the service', async (t) => {
  const {
    taskRoleArn,
    executionRoleArn,
    containerDefinitions: [container, ...others]
  } = JSON.parse(text('config/aws/ecs-task.json'))
  t.strictSame(others, [])
  t.ok(taskRoleArn && executionRoleArn && taskRoleArn !== executionRoleArn)
  const config = takes(
    t,
    'ECS',
    container.environment.map(({ name, value }: any) => [name, value]),
    container.secrets.map(({ name }: any) => name)
  )
  t.strictSame(
    container.portMappings.map(({ containerPort }: any) => containerPort),
    [config.port]
  )
  t.strictSame(container.healthCheck.command, ['CMD', ...image.check()])
  t.ok(container.stopTimeout > GRACE_MS / 1000)
  t.match(container, { user: String(image.user), readonlyRootFilesystem: true, linuxParameters: { capabilities: { drop: ['ALL'] } } })
  t.equal(container.image.split(':')[1], manifest.version)
  t.ok(container.ulimits[0].softLimit >= 20_000, 'for as many connections as Quoin holds')
})

/** The metrics that there are. A test of the metrics holds that page to the code. */
const METRICS = new Set(text('docs/operations.md').match(/\bquoin_[a-z_]+\b/g))

/** The metrics of Quoin's own that an expression asks for. */
const metricsIn = (expr: string) => [...expr.matchAll(/\bquoin_[a-z_]+\b/g)].map(([name]) => name.replace(/_(?:count|bucket|sum)$/, ''))

t.test('the rules for Prometheus are of metrics that there are, with a severity and what to do', async (t) => {
  const [group, ...others] = parse(text('config/prometheus/rules.yaml')).groups
  t.strictSame(others, [])
  const sections = [...text('docs/alerts.md').matchAll(/^## (\w+)\n\n(Critical|Warning)\. /gm)].map(([, alert, severity]) => [
    alert,
    severity!.toLowerCase()
  ])
  t.strictSame(
    group.rules.map(({ alert, labels }: any) => [alert, labels.severity]),
    sections,
    'each has a section of docs/alerts.md'
  )
  const tests = text('config/prometheus/rules.test.yaml')
  for (const { alert, expr, for: pause, annotations } of group.rules) {
    for (const name of metricsIn(expr)) t.ok(METRICS.has(name), `${alert}: ${name}`)
    for (const [selector] of expr.matchAll(/\{[^}]*\}/g)) t.match(selector, 'job="quoin"', alert)
    t.match({ alert, pause, annotations }, { alert: /^Quoin[A-Z]/, pause: /^\d+m$/, annotations: { summary: /^[A-Z]/ } })
    t.match(annotations.runbook_url, new RegExp(`^https://[^#]+/alerts\\.md#${alert.toLowerCase()}$`))
    t.match(tests, new RegExp(`alertname: ${alert}\n {8}exp_alerts:\n`), `${alert} is seen to fire`)
  }
  t.match(group.rules[0], { alert: 'QuoinAbsent', expr: /^absent\(/ }, 'instances that are gone leave no series')
})

t.test('Prometheus finds the instances by the annotations of the manifests, under the job of the rules', async (t) => {
  const [{ job_name: job, relabel_configs: relabels }] = parse(text('config/prometheus/scrape.yaml')).scrape_configs
  t.equal(job, 'quoin')
  const { metadata } = parse(text('config/kubernetes/deployment.yaml')).spec.template
  const meta = (kind: string, values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) => [`__meta_kubernetes_pod_${kind}_${name.replace(/[^a-z_]/g, '_')}`, value] as const)
  const labels = new Map([['__address__', '10.0.0.7:3000'], ...meta('label', metadata.labels), ...meta('annotation', metadata.annotations)])
  for (const { source_labels: sources, regex = '(.*)', action = 'replace', replacement = '$1', target_label: target } of relabels) {
    const match = new RegExp(`^(?:${regex})$`).exec(sources.map((name: string) => labels.get(name) ?? '').join(';'))
    if (action === 'keep') t.ok(match, sources.join())
    else if (match) {
      labels.set(
        target,
        replacement.replace(/\$(\d)/g, (_: string, group: string) => match[Number(group)] ?? '')
      )
    }
  }
  t.match([labels.get('__address__'), labels.get('__metrics_path__')], ['10.0.0.7:9464', '/metrics'])
})

t.test('the dashboard shows metrics that there are, and every one of them', async (t) => {
  const { uid, title, panels, templating, schemaVersion } = JSON.parse(text('config/grafana/quoin.json'))
  t.match({ uid, title, schemaVersion }, { uid: 'quoin', title: 'Quoin', schemaVersion: Number })
  t.match(templating.list, [{ name: 'datasource', type: 'datasource', query: 'prometheus' }])
  const shown = new Set<string>()
  const cells = new Set<string>()
  for (const { id, type, title, gridPos, targets, datasource } of panels) {
    t.match({ type, title, datasource }, { type: /^(?:stat|timeseries)$/, title: /^[A-Z]/, datasource: { uid: /^\$\{datasource\}$/ } })
    for (const { expr, refId } of targets) {
      t.match(refId, /^[A-Z]$/)
      for (const [selector] of expr.matchAll(/\{[^}]*\}/g)) t.match(selector, 'job="quoin"', title)
      for (const name of metricsIn(expr)) {
        t.ok(METRICS.has(name), `${title}: ${name}`)
        shown.add(name)
      }
    }
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        t.notOk(x > 23 || cells.has(`${x},${y}`), `panel ${id} has its place`)
        cells.add(`${x},${y}`)
      }
    }
  }
  // Those of the bus say where to look once it is down.
  const hidden = ['quoin_bus_round_trip_seconds', 'quoin_bus_silent_instances', 'quoin_bus_messages_total']
  t.strictSame([...METRICS].filter((name) => !shown.has(name)).sort(), hidden.sort())
})

t.test('the image is made of what it needs, and of no more', async (t) => {
  const { first, named, ignored } = dockerignore()
  t.equal(first, '*', 'what is not named stays out')
  for (const path of [...named, ...ignored]) t.ok(globSync(path, { cwd: ROOT }).length > 0, `${path} is there`)
  const files = imageFiles()
  for (const needed of [
    'server.ts',
    'app.ts',
    'cli.ts',
    'packages/setup/doctor.ts',
    'packages/setup/model.ts',
    'packages/setup/table.ts',
    'package.json',
    'config/content-model.json',
    'config/content-model.schema.json',
    'lib/locks/locks.ts',
    'packages/desk/page/index.html',
    'packages/desk/page/main.ts',
    'packages/desk/build.ts',
    'dev/bundle.ts',
    'dev/start.ts',
    'packages/desk/package.json',
    'packages/desk/server/desk.ts',
    'packages/client/src/client.ts'
  ]) {
    t.ok(files.includes(needed), needed)
  }
  t.strictSame(
    files.filter(
      (path) =>
        /^(?:test|node_modules|\.|config\/(?:aws|compose|kubernetes|prometheus|terraform))/.test(path) || /\.(?:md|log)$|\.env/.test(path)
    ),
    []
  )
  const dockerfile = text('Dockerfile')
  for (const [, sources] of dockerfile.matchAll(/^COPY (?!--from=)(.*) \S+$/gm)) {
    for (const source of sources!.split(' ')) t.ok(source === '.' || files.includes(source), `COPY ${source}`)
  }
  t.match(dockerfile, /^FROM node:24-alpine@sha256:[\da-f]{64} AS base$/m)
  t.match(dockerfile, /^RUN npm ci --omit=dev --no-audit --no-fund && npm run install:optional && /m, 'with the optional packages')
  t.match(dockerfile, /^ENV HOST=0\.0\.0\.0$/m)
  t.strictSame(
    dockerfile.match(/^USER .*$|^RUN .*dist\/cli.js|^CMD /gm)!.map((line) => line.split(' ')[0]),
    ['USER', 'RUN', 'CMD'],
    'it does not run as root, and so keeps what Node compiles for that user'
  )
  t.strictSame(execForm(/^CMD (\[.*\])$/m), ['node', manifest.bin.quoin, 'start'], 'it starts without npm, so that SIGTERM arrives')
  const [, ...builds] = /^RUN node (\S+) dist\nRUN node (\S+) dist\//m.exec(dockerfile)!
  for (const script of builds) t.match(manifest.scripts.prepack, `node ${script} dist`, 'it has what the package has')
})

const compose = parse(text('compose.yaml'))

/** Variables that OpenTelemetry's own code reads, as the documents have them. */
const OF_OPENTELEMETRY = /variables of OpenTelemetry: ([\w, ]*)\./.exec(text('docs/operations.md'))![1]!.split(/, | and /)

t.test('compose.yaml has settings that exist, no secrets, and ports of this machine alone', async (t) => {
  const { tls, balancer, instance, table, dynamodb, bus } = compose.services
  for (const [name, { environment = {}, ports = [] }] of Object.entries<any>(compose.services)) {
    for (const [setting, value] of Object.entries(environment)) {
      t.ok(isSetting(setting) || OF_OPENTELEMETRY.includes(setting), `${name}: ${setting}`)
      if (/PASSWORD|SECRET|HEADERS/.test(setting)) t.equal(value, null, `${setting} comes from outside`)
    }
    for (const port of ports) t.match(port, /^127\.0\.0\.1:/, `${name}: ${port}`)
  }
  t.strictSame(Object.keys(instance.environment).sort(), [...SETTINGS, ...OF_OPENTELEMETRY].sort(), 'every setting is passed on')
  const { HOST, PORT, DYNAMODB_ENDPOINT, ...others } = instance.environment
  t.strictSame({ HOST, PORT }, { HOST: '0.0.0.0', PORT: '3000' }, 'what would leave the container out of reach is not')
  for (const [name, value] of Object.entries(others)) {
    if (value !== null) t.match(value, new RegExp(`^\\$\\{${name}:?[-?].+\\}$`), `${name} comes from outside`)
  }
  t.strictSame(table.environment, { DYNAMODB_ENDPOINT, DATA_STATE_TABLE: null, AWS_REGION: null }, 'both have the same table')
  t.strictSame(table.command, ['node', manifest.bin.quoin, 'table'])
  t.match(
    { instance, table, dynamodb },
    {
      instance: {
        build: '.',
        deploy: { replicas: 2 },
        depends_on: { table: { condition: 'service_completed_successfully' }, bus: { condition: 'service_healthy' } }
      },
      table: { build: '.', depends_on: { dynamodb: { condition: 'service_healthy' } } },
      dynamodb: { image: /^amazon\/dynamodb-local:\d/, healthcheck: {} }
    }
  )
  t.strictSame(
    Object.entries<any>(compose.services)
      .filter(([, { ports }]) => ports)
      .map(([name]) => name),
    ['tls', 'balancer'],
    'nothing else is reached from outside'
  )
  t.equal(bus.volumes, undefined, 'the bus keeps nothing')

  const { bus: busConfig, hosts } = readConfig({
    ENVIRONMENT: 'local',
    CMS_URL: 'http://cms.example',
    DYNAMODB_ENDPOINT,
    EVENTS_BUS_URL: /-(.*)\}$/.exec(others.EVENTS_BUS_URL)![1],
    HOSTS: /-(.*)\}$/.exec(others.HOSTS)![1]
  })
  t.equal(busConfig!.url, 'redis://bus:6379')
  t.strictSame(balancer.networks.default.aliases, hosts, 'other containers call it by a name that instances answer to')
  const [volume] = balancer.volumes
  const haproxy = text(volume.split(':')[0])
  t.match(haproxy, new RegExp(`^  bind :${balancer.ports[0].split(':').at(-1)}$`, 'm'))
  t.match(haproxy, new RegExp(`^  server-template instance \\d+ instance:${PORT} `, 'm'))
  t.match(haproxy, '\n  option httpchk GET /health/live\n')
  const caddyfile = text(tls.volumes[0].split(':')[0])
  t.match(
    caddyfile,
    `\nhttps://localhost:${tls.ports[0].split(':').at(-1)} {\n\ttls internal\n\treverse_proxy balancer:${balancer.ports[0].split(':').at(-1)}\n}`
  )
})
