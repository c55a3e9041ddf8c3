import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { renewKey } from '../../packages/setup/drupal-key.ts'
import { enableModule } from './module.ts'
import { signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

/** For how long PHP may go on with the settings that it has compiled: opcache.revalidate_freq, and what it rounds. */
const REVALIDATED_MS = 3500

t.test('who is logged in to Drupal gets a token that AUTH=jwt takes', { timeout: 600_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'quoin-key-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'key.json')
  await renewKey(file, Date.now())
  const site = await startSite()
  t.teardown(site.stop)
  await enableModule(site, { key_file: file })
  const editor = await signIn(site, 'editor')

  const ask = (headers: Record<string, string>) => fetch(`${site.url}/quoin/token`, { headers, redirect: 'manual' })
  const tokenOf = async (headers: Record<string, string>) => ((await (await ask(headers)).json()) as { token: string }).token
  const service = await startQuoin(site, {
    AUTH: 'jwt',
    AUTH_KEYS: `${site.url}/quoin/jwks`,
    AUTH_ISSUER: 'drupal',
    AUTH_AUDIENCE: 'quoin',
    CMS_AUTH: 'basic',
    CMS_USER: 'service',
    CMS_PASSWORD: 'service'
  })
  t.teardown(() => service.close())
  const read = (token: string) => service.inject({ url: '/api/collection/1', headers: { authorization: `Bearer ${token}` } })

  const answer = await ask(editor)
  const { token, expires } = (await answer.json()) as { token: string; expires: number }
  t.match([answer.status, answer.headers.get('cache-control')], [200, /no-store/])
  const [, payload = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const uid = String(site.content.users['editor'])
  t.match(claims, { iss: 'drupal', aud: 'quoin', sub: uid, name: 'editor', exp: expires })
  t.equal(claims.exp - claims.iat, 300)
  t.ok(claims.roles.includes('authenticated'))
  t.equal((await read(token)).statusCode, 200)

  t.equal((await ask({})).status, 403, 'nobody is logged in')
  const basic = { authorization: `Basic ${btoa('editor:editor')}` }
  t.equal((await ask(basic)).status, 403, 'a token is for a session')
  for (const foreign of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }]) {
    t.equal((await ask({ ...editor, ...foreign } as Record<string, string>)).status, 403, JSON.stringify(foreign))
  }
  t.equal((await ask({ ...editor, 'sec-fetch-site': 'same-origin' })).status, 200)

  await renewKey(file, Date.now())
  const next = await tokenOf(editor)
  t.equal((await read(next)).statusCode, 200, 'a rotated key is taken at once')
  t.equal((await read(token)).statusCode, 200, 'and so are the tokens of the one before')
  const jwks = await fetch(`${site.url}/quoin/jwks`)
  const { keys } = (await jwks.json()) as { keys: object[] }
  t.match([jwks.headers.get('cache-control'), keys.length], [/no-store/, 2])
  t.notOk(keys.some((key) => 'd' in key || 'expires' in key))

  const signAs = (changes: string) =>
    site.php(`
      $claims = ['iss' => 'drupal', 'aud' => 'quoin', 'sub' => '${uid}', 'exp' => time() + 300, ${changes}];
      return \\Drupal::service('quoin.token_key')->sign(fn ($kid) => implode('.', array_map(
        fn ($part) => \\Drupal\\quoin\\TokenKey::encode(json_encode($part)), [['alg' => 'RS256', 'kid' => $kid], $claims])));`)
  t.equal((await read(JSON.parse(await signAs("'name' => 'x'")))).statusCode, 200)
  const expired = await read(JSON.parse(await signAs("'exp' => time() - 31")))
  t.match([expired.statusCode, expired.body], [401, /expired/i])
  t.equal((await read(JSON.parse(await signAs("'aud' => 'other'")))).statusCode, 401)

  const leaver = await signIn(site, 'editor2')
  t.equal((await ask(leaver)).status, 200)
  await site.php('\\Drupal\\user\\Entity\\User::load(' + site.content.users['editor2'] + ')->block()->save();')
  t.equal((await ask(leaver)).status, 403, 'a blocked user gets none')
  const login = await fetch(`${site.url}/user/login?_format=json`, {
    method: 'POST',
    body: JSON.stringify({ name: 'editor', pass: 'editor' })
  })
  const { logout_token: logoutToken } = (await login.json()) as { logout_token: string }
  const session = { cookie: login.headers.get('set-cookie')!.split(';')[0]! }
  t.equal((await ask(session)).status, 200)
  const out = await fetch(`${site.url}/user/logout?_format=json&token=${logoutToken}`, { method: 'POST', headers: session })
  t.equal(out.status, 204)
  t.equal((await ask(session)).status, 403, 'a session that has ended gets none')

  const reader = await signIn(site, 'reader')
  const problem = async () => JSON.parse(await site.php("return [\\Drupal::service('quoin.token_key')->problem()];"))[0]
  t.equal(await problem(), null)
  const report = JSON.parse(
    await site.php(
      "include_once DRUPAL_ROOT . '/core/includes/install.inc'; \\Drupal::moduleHandler()->loadInclude('quoin', 'install'); return \\Drupal::moduleHandler()->invoke('quoin', 'requirements', ['runtime']);"
    )
  )
  t.match(report, { quoin_tokens: { severity: 0, description: '' } })
  for (const mode of [0o644, 0o660]) {
    chmodSync(file, mode)
    t.equal((await ask(reader)).status, 503)
    t.match(await problem(), /mode/)
  }
  chmodSync(file, 0o640)
  t.equal((await ask(reader)).status, 200, 'a group may read the key')
  copyFileSync(file, join(site.root, 'sites/default/files/key.json'))
  await site.php(
    "file_put_contents('sites/default/settings.php', \"\\n\\$settings['quoin']['key_file'] = '" +
      join(site.root, 'sites/default/files/key.json') +
      '\';\\n", FILE_APPEND);'
  )
  t.match(await problem(), /below the web root/)
  await sleep(REVALIDATED_MS)
  t.equal((await ask(reader)).status, 503)
  t.equal((await fetch(`${site.url}/quoin/jwks`)).status, 503)
})
