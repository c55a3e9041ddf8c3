import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { checkCms } from '../doctor/cms.ts'
import { checkIssuer } from '../doctor/issuer.ts'
import { checkStore } from '../doctor/store.ts'
import { createStore } from '../../../lib/table/client.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { report, type Diagnosis } from '../diagnosis.ts'
import { createHttp } from '../../../lib/http/client.ts'
import { transportReason } from '../../../lib/http/transport-reason.ts'
import model from '../../../config/content-model.json' with { type: 'json' }

async function listen(t: Test, server: Server): Promise<string> {
  t.teardown(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const answering = (t: Test, listener: RequestListener) => listen(t, createServer(listener))

/** What the doctor says of a CMS, a store and an issuer at one address. */
async function diagnoses(t: Test, url: string): Promise<Record<'cms' | 'store' | 'issuer', string>> {
  const http = createHttp({ url, timeoutMs: 5000 })
  const { client, destroy } = createStore({ region: 'local', endpoint: url, attempts: 1 })
  t.teardown(() => http.close())
  t.teardown(destroy)
  const first = async (findings: AsyncIterable<Diagnosis>) => {
    const lines: string[] = []
    await report(findings, (line) => lines.push(line))
    return lines[0]!
  }
  async function* issuer() {
    yield await checkIssuer(`${url}/keys`)
  }
  return {
    cms: await first(checkCms({ http, url, jsonapiPath: '/jsonapi', model: contentModel(model) })),
    store: await first(checkStore({ client, table: 'DataState', environment: 'test', local: true })),
    issuer: await first(issuer())
  }
}

t.test('https:// to a port that speaks plain HTTP is named', async (t) => {
  const words = /\(the setting begins with https:\/\/, but plain HTTP is spoken at this port\)/
  t.match(await diagnoses(t, `https://${await answering(t, (_request, response) => response.end('{}'))}`), {
    cms: words,
    store: words,
    issuer: words
  })
})

t.test('http:// to a port that speaks HTTPS is named', async (t) => {
  const words =
    /\((?:other side closed|Response does not match the HTTP\/1\.1 protocol .*); a port that speaks HTTPS does this when the setting begins with http:\/\/\)/
  t.match(await diagnoses(t, `http://${await listen(t, createHttpsServer())}`), { cms: words, store: words, issuer: words })
})

t.test('what Node 22 says of either is understood too', async (t) => {
  t.match(
    transportReason({ name: 'Error', message: 'packet length too long', code: 'ERR_SSL_PACKET_LENGTH_TOO_LONG' }),
    /plain HTTP is spoken/
  )
  t.match(
    transportReason({ name: 'HTTPParserError', message: 'Response does not match' }),
    /^Response does not match; a port that speaks HTTPS/
  )
})

t.test('a web server that asks for HTTPS is understood, by its error page or by a redirect to itself', async (t) => {
  const page =
    (title: string): RequestListener =>
    (_request, response) =>
      response.writeHead(400, { 'content-type': 'text/html' }).end(`<html><head><title>${title}</title></head></html>`)
  const redirect =
    (location: string): RequestListener =>
    (_request, response) =>
      response.writeHead(301, { location }).end()
  const cases: Array<[name: string, listener: RequestListener, isMixUp: boolean]> = [
    ['nginx', page('400 The plain HTTP request was sent to HTTPS port'), true],
    ['Apache', page("Bad Request: You're speaking plain HTTP to an SSL-enabled server port."), true],
    ['a redirect to https of the same host', redirect('https://127.0.0.1/jsonapi'), true],
    ['another page', page('400 Bad Request'), false],
    ['a redirect elsewhere', redirect('https://login.example/'), false],
    ['a redirect without a scheme', redirect('/elsewhere'), false]
  ]
  for (const [name, listener, isMixUp] of cases) {
    const url = `http://${await answering(t, listener)}`
    const { cms } = await diagnoses(t, url)
    if (isMixUp) t.equal(cms, `!    CMS: HTTPS is spoken at ${url}, but CMS_URL begins with http://: write https:// in CMS_URL`, name)
    else t.match(cms, /^! {4}CMS: The CMS answered something that is not JSON:API/, name)
  }
})
