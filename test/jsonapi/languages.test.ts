import t, { type Test } from 'tap'
import { createHttp } from '#lib/http/client.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import type { ErrorObject } from '#lib/drupal/document.ts'
import { createLanguages, otherLanguages } from '#lib/drupal/languages.ts'
import { errors, JSONAPI, say, startScriptedCms, type Script } from '../editions/scripted-cms.ts'
import { newCaller } from '#lib/http/calls.ts'

const refused = errors(
  405,
  'The requested translation of the resource object does not exist, instead modify one of the translations that do exist: fr.'
) as { errors: ErrorObject[] }
const HTML = { 'content-type': 'text/html' }

/** A site that changes French editions under /fr alone, and answers there as told; what it was asked to change. */
async function openSite(t: Test, underPrefix: Script, languages?: Record<string, string>) {
  const cms = await startScriptedCms(t)
  const http = createHttp({ url: cms.url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const paths: string[] = []
  cms.odd = {
    is: () => true,
    script(response, request) {
      paths.push(request.url!)
      if (request.url!.startsWith('/fr/')) underPrefix(response, request)
      else say(response, 405, refused, JSONAPI)
    }
  }
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi', ...(languages && { languages }) })
  const change = (language?: string) =>
    jsonapi.request({ method: 'PATCH', path: '/x', body: { data: {} }, query: [['a', 'b']], caller: newCaller(), language })
  return { paths, change }
}

t.test('the path of JSON:API has the prefix of a language that the site is known to have', async (t) => {
  const cases: Array<[jsonapiPath: string, language: string, path: string]> = [
    ['/jsonapi', 'de', '/jsonapi'],
    ['/jsonapi', 'fr', '/french/jsonapi'],
    ['/jsonapi', 'it', '/jsonapi'],
    ['/jsonapi', 'constructor', '/jsonapi'],
    ['/french/api/json', 'de', '/api/json'],
    ['/french/api/json', 'fr', '/french/api/json']
  ]
  for (const [jsonapiPath, language, path] of cases) {
    t.equal(createLanguages(jsonapiPath, { de: '', fr: 'french' }).pathOf(language), path, `${language} at ${jsonapiPath}`)
  }
})

t.test('only a refusal for the language of the path is a reason to try another', async (t) => {
  const { guess } = createLanguages('/jsonapi', { de: '' })
  t.equal(guess('fr', refused.errors), '/fr/jsonapi')
  t.equal(guess('de', refused.errors), undefined, 'a language whose prefix is known')
  t.equal(guess(undefined, refused.errors), undefined)
  for (const other of [undefined, [], [{}], [{ detail: 5 }], [{ detail: 'Method Not Allowed' }]]) {
    t.equal(guess('fr', other as ErrorObject[]), undefined)
  }
  t.equal(otherLanguages(refused.errors), 'fr')
})

t.test('an answer under the prefix of another language says so', async (t) => {
  const ok: Script = (response) => say(response, 200, { data: null }, JSONAPI)
  const { change } = await openSite(t, ok)
  t.equal((await change('fr')).isElsewhere, true, 'one that was tried')
  t.equal((await change()).isElsewhere, undefined)
  const known = await openSite(t, ok, { de: '', fr: 'fr' })
  t.equal((await known.change('fr')).isElsewhere, true, 'one that is known')
  t.equal((await known.change('de')).isElsewhere, undefined)
})

t.test('no more languages are remembered than sites have', async (t) => {
  const languages = createLanguages('/jsonapi')
  for (let count = 0; count < 250; count++) languages.learn(`l${count}`, `/l${count}/jsonapi`)
  languages.learn(undefined, '/nowhere')
  t.equal(languages.pathOf('l199'), '/l199/jsonapi')
  t.equal(languages.pathOf('l200'), '/jsonapi')
})

t.test('a change goes under the prefix of its language, which is tried where it is not known', async (t) => {
  const well: Script = (response) => say(response, 200, { data: [] }, JSONAPI)
  const trying = await openSite(t, well)
  t.equal((await trying.change('fr')).status, 200)
  t.equal((await trying.change('fr')).status, 200)
  t.strictSame(trying.paths, ['/jsonapi/x?a=b', '/fr/jsonapi/x?a=b', '/fr/jsonapi/x?a=b'], 'the refusal is met once')

  const told = await openSite(t, well, { de: '', fr: 'fr' })
  t.equal((await told.change('fr')).status, 200)
  t.equal((await told.change()).status, 405)
  t.strictSame(told.paths, ['/fr/jsonapi/x?a=b', '/jsonapi/x?a=b'])
})

t.test('what the other path answers is the answer, unless there is no such path', async (t) => {
  const cases: Array<[what: string, script: Script, outcome: string]> = [
    ['a page that says 404', (response) => say(response, 404, '<html>', HTML), '405'],
    ['a redirect', (response) => say(response, 302, '', { location: '/' }), '405'],
    ['a refusal', (response) => say(response, 422, errors(422, 'no'), JSONAPI), '422'],
    ['a failure, after which nobody knows whether it was saved', (response) => say(response, 500, '<html>', HTML), 'CMS_FAILED']
  ]
  for (const [what, script, outcome] of cases) {
    const { change } = await openSite(t, script)
    t.equal(
      await change('fr').then(
        ({ status }) => String(status),
        ({ code }) => code
      ),
      outcome,
      what
    )
  }
})
