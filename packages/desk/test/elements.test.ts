import { gunzipSync } from 'node:zlib'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { embedded } from '../server/build-elements.ts'
import { LANGUAGES } from '../server/built-page.ts'
import { ROOT } from '../../../test/app/fixtures/processes.ts'
import { bearer, jwtEnv } from '../../../test/auth/fixtures.ts'
import { build } from '../../../test/helper.ts'

const ON = { DESK: 'on', CORS_ORIGINS: 'https://ui.example' }
const fastify = await build(t, ON)
const get = (url: string, headers: Record<string, string> = {}) => fastify.inject({ url, headers })

/** All that an element loads at first, by path, with the bytes that are sent. */
async function loadedBy(kind: string, language: string): Promise<Map<string, number>> {
  const loaded = new Map<string, number>()
  const open = ['/desk/elements.js']
  for (const path of open) {
    if (loaded.has(path)) continue
    const { statusCode, rawPayload } = await get(path, { 'accept-encoding': 'gzip' })
    t.equal(statusCode, 200, path)
    loaded.set(path, rawPayload.length)
    const text = gunzipSync(rawPayload).toString()
    const parts = path === '/desk/elements.js' ? [new RegExp(`"\\./files/(${kind}-${language}-\\w+\\.js)"`).exec(text)![1]!] : []
    const imported = [...text.matchAll(/(?:\bfrom|\bimport)"\.\/(?:files\/)?([\w.-]+)"/g)].map(([, name]) => name!)
    open.push(...[...parts, ...imported].map((name) => `/desk/files/${name}`))
  }
  return loaded
}

/** What docs/elements.md says of the bytes of an element, in KB. */
const documented = (kind: string) =>
  Number(new RegExp(`<quoin-${kind}>\` \\| (\\d+) KB`).exec(readFileSync(join(ROOT, 'docs/elements.md'), 'utf8'))![1])

for (const kind of ['running-order', 'board']) {
  t.test(`<quoin-${kind}> is as small as the documentation says, in each language`, async (t) => {
    for (const language of LANGUAGES) {
      const loaded = await loadedBy(kind, language)
      const bytes = [...loaded.values()].reduce((sum, one) => sum + one, 0)
      t.comment(`${kind} ${language}: ${bytes} bytes in ${loaded.size} files`)
      t.ok(loaded.size >= 4)
      t.ok(bytes < (documented(kind) + (language === 'en' ? 1 : 4)) * 1024, `${bytes} bytes`)
    }
  })
}

t.test('the script of the elements has one name, and is asked for again', async (t) => {
  const { headers } = await get('/desk/elements.js', { origin: 'https://ui.example' })
  t.match(headers, {
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-cache',
    'access-control-allow-origin': 'https://ui.example',
    etag: /^"\w+"$/
  })
  t.equal((await get('/desk/elements.js', { 'if-none-match': headers['etag'] as string })).statusCode, 304)
  t.equal((await (await build(t)).inject('/desk/elements.js')).statusCode, 404, 'with DESK=off there is none')
})

t.test('an element asks in one request how callers are known, who calls, and for the names of the site', async (t) => {
  t.match((await get('/api/desk/settings')).json(), { auth: 'none', user: null, model: { entityType: 'publisher_container' } })
  const jwt = await build(t, { ...ON, ...jwtEnv(t) })
  t.match((await jwt.inject('/api/desk/settings')).json(), { statusCode: 401, code: 'UNAUTHENTICATED' })
  const { auth, user } = (await jwt.inject({ url: '/api/desk/settings', headers: bearer() })).json()
  t.strictSame([auth, user], ['jwt', { uid: '7', name: 'Anna' }])
})

t.test('no element has styles or scripts inline', async (t) => {
  for (const path of globSync('packages/desk/elements/*.ts', { cwd: ROOT })) {
    t.notMatch(readFileSync(join(ROOT, path), 'utf8'), /\sstyle="|\bunsafeHTML\b|\.innerHTML\b|https?:\/\/|window\.\w+ = /, path)
  }
})

t.test('the styles of the page become those of a part', async (t) => {
  const page =
    ':root{color-scheme:light dark;--paper:#fff}@media (prefers-color-scheme: dark){:root{--paper:#000}}body{margin:0;font:1rem/1 x}' +
    '@media (max-width:42rem){html{a:b}.order{gap:.5rem}}'
  t.strictSame(embedded(page, '.own{}').split('\n'), [
    ':host{--rem:var(--quoin-rem,1rem)}',
    '.own{}',
    '.part{color-scheme:light dark}:host,.part{--paper:#fff}.part{margin:0;font:calc(1*var(--rem))/1 x}' +
      '@container (max-width:42rem){.part{a:b}.order{gap:calc(.5*var(--rem))}}',
    '@media (prefers-color-scheme:dark){.part:not(.is-light){--paper:#000}}',
    '.part.is-dark{--paper:#000}'
  ])
  t.match(embedded(':root{--paper:#fff}', ''), ':root'.replace(':root', '.part'), 'also where the page has no dark colours')
})
