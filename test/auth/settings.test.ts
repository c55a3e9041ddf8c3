import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../config/env.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { problemsOf } from '../helper.ts'
import { AUDIENCE, ISSUER, keyFile, pairs, pemOf } from './fixtures.ts'

const enough = { ENVIRONMENT: 'test', CMS_URL: 'https://cms.example', AWS_REGION: 'eu-central-1' }
const jwt = {
  ...enough,
  AUTH: 'jwt',
  AUTH_ISSUER: ISSUER,
  AUTH_AUDIENCE: AUDIENCE,
  AUTH_KEYS: 'https://id.example/jwks',
  CMS_AUTH: 'passthrough'
}

t.test('each way to know callers is taken as it is set', async (t) => {
  t.notHas(
    readConfig({ ...enough, AUTH: 'none', AUTH_KEYS: '/nowhere', AUTH_ADMINS: '1' }),
    { auth: {} },
    'what is not used is not looked at'
  )
  t.strictSame(readConfig({ ...enough, AUTH: 'drupal', AUTH_ADMINS: ' 1, Ada L.,,7 ' }).auth, {
    kind: 'drupal',
    admins: ['1', 'Ada L.', '7']
  })
  t.match(readConfig({ ...jwt, AUTH_LOCK_CLAIM: 'https://id.example/roles=editor=chief' }).auth, {
    jwt: { lock: { claim: 'https://id.example/roles', value: 'editor=chief' } }
  })
  t.strictSame(readConfig(jwt).auth, {
    kind: 'jwt',
    admins: [],
    jwt: { keys: { jwksUrl: 'https://id.example/jwks' }, issuer: ISSUER, audience: AUDIENCE, uidClaim: 'sub' }
  })
  for (const url of ['http://localhost:8080/jwks', 'http://127.0.0.1/jwks?x=1', 'http://[::1]:1/', 'https://id.example']) {
    t.match(readConfig({ ...jwt, AUTH_KEYS: url }).auth, { jwt: { keys: { jwksUrl: url } } })
  }
  for (const [algorithm, pair] of Object.entries(pairs)) {
    const { auth } = readConfig({
      ...jwt,
      AUTH_KEYS: keyFile(t, pemOf(pair)),
      AUTH_UID_CLAIM: 'https://id.example/uid'
    })
    t.match(auth, { jwt: { keys: { algorithm, key: Object }, uidClaim: 'https://id.example/uid' } })
  }
})

t.test('each wrong setting of who calls is named, with what it is and what is allowed', async (t) => {
  const wrong: Record<string, string[]> = {
    AUTH: ['None', 'JWT', 'basic', 'constructor'],
    AUTH_KEYS: [
      'http://id.example/jwks',
      'http://localhost.example/jwks',
      'http://127.0.0.1.example/',
      'file:///etc/jwks',
      'https://',
      'https://id.example/#x',
      'https://a b/',
      'https://%zz/',
      'https://id.example:99999/'
    ],
    AUTH_LOCK_CLAIM: ['roles', 'roles=', '=editor', 'roles=a b', 'my roles=a', 'roles=a\n'],
    AUTH_UID_CLAIM: ['a b', 'a"b', 'a\\b', 'ü', 'a\n']
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const problems = problemsOf({ ...jwt, [name]: value })
      t.strictSame(
        problems.map((problem) => problem.startsWith(`${name} is ${JSON.stringify(value)} but must be `)),
        [true],
        `${name}=${value}: ${problems.join()}`
      )
    }
  }
})

t.test('what AUTH=jwt needs is reported at once, one line each', async (t) => {
  t.strictSame(
    problemsOf({ ...enough, AUTH: 'jwt' }).map((problem) => problem.split(':')[0]),
    ['AUTH_KEYS is missing', 'AUTH_ISSUER is missing', 'AUTH_AUDIENCE is missing', 'CMS_AUTH is missing']
  )
  t.match(
    problemsOf({ ...jwt, CMS_AUTH: '' }),
    [/^CMS_AUTH is missing: with AUTH=jwt say passthrough if Drupal takes the same tokens/],
    'where tokens go is never a default'
  )
})

t.test('a key that cannot be used is a wrong setting, and is never repeated', async (t) => {
  const keyed = (file: string) => problemsOf({ ...jwt, AUTH_KEYS: file })
  const secret = pairs.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const nowhere = join(emptyDirectory(t), 'absent.pem')
  const file = keyFile(t, secret)
  t.match(keyed(nowhere), [new RegExp(`^AUTH_KEYS is "${nowhere}" but ENOENT`)])
  t.strictSame(keyed(file), [`AUTH_KEYS is "${file}" but it has to be a public key in PEM: -----BEGIN PUBLIC KEY-----`])
  for (const inline of [secret, pemOf(pairs.ES256), secret.replaceAll('\n', '\\n')]) {
    t.strictSame(
      keyed(inline),
      [
        "AUTH_KEYS is not right but must be the address of the issuer's keys (a JSON Web Key Set), by https, or by http on this machine, or the path of a file with its public key in PEM (needed with AUTH=jwt)"
      ],
      'the key itself instead of a path'
    )
  }
})
