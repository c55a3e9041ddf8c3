import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { as, quoin as ask, signIn, startQuoin as startInside } from '../../drupal/quoin.ts'
import { startSite, type Site } from '../../drupal/site.ts'
import { compare } from '../compare.ts'
import type { Load, LoadRequest } from '../load.ts'
import { startQuoin, startWorker, type Contestant, type Worker } from '../processes.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'
import { savesAtDrupal } from './drupal-saves.ts'

/** An edition with six articles. */
const EDITION = 11

interface Desk {
  site: Site
  quoin: Contestant
  load: Worker<Load>
  /** One request after the other. */
  ask: (url: string, path: string, headers?: Record<string, string>) => Promise<Figures>
}

/** Quoin with a service account's session before a real Drupal (test/drupal). */
async function atDrupal({ ms }: SuiteOptions, work: (desk: Desk) => Promise<Comparison[]>): Promise<Comparison[]> {
  const site = await startSite()
  const quoin = await startQuoin({
    CMS_URL: site.url,
    CMS_AUTH: 'session',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
    ENVIRONMENT: 'bench'
  })
  const load = await startWorker<Load>('load.ts')
  try {
    const request = (path: string, headers = {}): LoadRequest => ({ method: 'GET', path, headers, status: 200 })
    return await work({
      site,
      quoin,
      load,
      ask: (url, path, headers) => load.run({ url, requests: [request(path, headers)], concurrency: 1, ms: 3 * ms })
    })
  } finally {
    for (const each of [quoin, load]) await each.close()
    await site.stop()
  }
}

/** What Quoin asks of the site for a request: once it knows the site, and when it is asked for this again. */
async function askedFor(site: Site, path: string): Promise<{ first: string; again: string }> {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    asked.push(request.url!)
    const answer = await fetch(site.url + request.url, { headers: request.headers as Record<string, string> })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service = await startInside({ ...site, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  const session = await signIn(site, 'editor')
  async function one(path: string): Promise<string> {
    asked.length = 0
    await ask(service, session, 'GET', path)
    if (asked.length !== 1) throw new Error(`${path} takes ${asked.length} requests`)
    return asked[0]!
  }
  // Another page tells of all users.
  for (const other of [`/api/collection/${EDITION}`, '/api/collections/daily?limit=40']) await ask(service, session, 'GET', other)
  const result = { first: await one(path), again: await one(path) }
  await service.close()
  server.closeAllConnections()
  server.close()
  return result
}

/** Of 50 it takes a second page to know whether there are more. */
const works: Array<[name: string, path: string]> = [
  ['read', `/api/collection/${EDITION}`],
  ['list of 20', '/api/collections/daily?limit=20'],
  ['list of 49', '/api/collections/daily?limit=49']
]

export const drupal: Suite = {
  name: 'drupal',
  title: 'Editions before a real Drupal',
  onlyNamed: true,
  run: async (options) => [...(await atDrupal(options, readsAt(options))), ...(await savesAtDrupal(options))]
}

function readsAt({ rounds, say }: SuiteOptions) {
  return async ({ site, quoin, ask }: Desk): Promise<Comparison[]> => {
    const comparisons: Comparison[] = []
    const session = await signIn(site, 'editor')
    for (const [name, path] of works) {
      const { first, again } = await askedFor(site, path)
      say(name)
      comparisons.push(
        await compare(`${name}, one after the other`, rounds, {
          Quoin: () => ask(quoin.url, path),
          'the same request to JSON:API': () => ask(site.url, again, session),
          ...(first !== again && { 'one that includes what the urls are made of': () => ask(site.url, first, session) })
        })
      )
    }
    return comparisons
  }
}

export const coreRest: Suite = {
  name: 'core-rest',
  title: 'Reading beside core REST',
  onlyNamed: true,
  run: (options) =>
    atDrupal(options, async ({ site, quoin, ask }) => {
      const path = `/${site.names.entityType}/${EDITION}?_format=json`
      const session = await signIn(site, 'editor')
      return [
        await compare('read, one after the other', options.rounds, {
          Quoin: () => ask(quoin.url, `/api/collection/${EDITION}`),
          'core REST with Basic credentials': () => ask(site.url, path, as('editor')),
          'core REST with a session': () => ask(site.url, path, session)
        })
      ]
    })
}
