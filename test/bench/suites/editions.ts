import { compare } from '../compare.ts'
import type { Load, LoadRequest } from '../load.ts'
import { observed, startProgram, startQuoin, startWorker } from '../processes.ts'
import type { Comparison, Suite, SuiteOptions } from '../suite.ts'
import { askedOf, asSent, CALLER, JSON_TYPE } from '../upstream.ts'

/** How long each work is done before it is measured, so that code is compiled by then. */
const WARM_UP_MS = 3000

const get = (path: string): LoadRequest => ({ method: 'GET', path, headers: CALLER, status: 200 })

const reads: Array<[name: string, request: LoadRequest]> = [
  ['read', get('/api/collection/60')],
  ['list of 20', get('/api/collections/daily?limit=20')],
  ['list of 50', get('/api/collections/daily?limit=50')]
]

/** `changing`: what is read has changed each time since the caller read it last. */
const works: Array<{ name: string; request: LoadRequest; changing?: true }> = [
  ...reads.flatMap(([name, request]) => [
    { name, request },
    { name: `${name}, changed since`, request, changing: true as const }
  ]),
  {
    name: 'create',
    request: {
      method: 'POST',
      path: '/api/collection',
      headers: { ...CALLER, ...JSON_TYPE },
      body: '{"type":[{"target_id":"daily"}],"title":[{"value":"Friday"}],"field_key":[{"value":"bench"}]}',
      status: 201
    }
  },
  {
    name: 'update',
    // Of an edition of its own: who writes to the same one at once waits for his turn.
    request: {
      method: 'POST',
      path: '/api/collection/{worker}',
      headers: { ...CALLER, ...JSON_TYPE },
      body: '{"title":[{"value":"Thursday, edition {save}"}]}',
      status: 200
    }
  }
]

/**
 * Quoin, the CMS without it, and a proxy that translates nothing, before a CMS and a store that answer at once: what a
 * request costs besides them. The latter two are sent all that Quoin asks of the CMS.
 */
async function beforeStub({ rounds, ms, short, say }: SuiteOptions): Promise<Comparison[]> {
  const cms = await startProgram('stubs/cms.ts')
  const store = await startProgram('stubs/store.ts')
  const settings = { CMS_URL: cms.url, DYNAMODB_ENDPOINT: store.url, ENVIRONMENT: 'bench' }
  const quoin = await startQuoin(settings)
  const proxy = await startProgram('contestants/http-proxy.ts', settings)
  const load = await startWorker<Load>('load.ts')
  const comparisons: Comparison[] = []
  const warmUpMs = short ? WARM_UP_MS / 2 : WARM_UP_MS
  try {
    for (const { name, request, changing } of works) {
      await fetch(`${cms.url}/changing`, { method: changing ? 'PUT' : 'DELETE' })
      await load.run({ url: quoin.url, requests: [request], concurrency: 32, ms: warmUpMs })
      await askedOf(cms.url)
      await load.run({ url: quoin.url, requests: [request], concurrency: 1, ms: 1 })
      const upstream = await askedOf(cms.url)
      const requests = { requests: upstream.map(asSent), areOne: true }
      await load.run({ url: proxy.url, ...requests, concurrency: 32, ms: warmUpMs })
      for (const concurrency of short ? [32] : [32, 1]) {
        const work = `${name}, ${concurrency} at once, instant CMS`
        say(work)
        comparisons.push(
          await compare(work, rounds, {
            Quoin: async () => ({
              ...(await observed(quoin.pid, () => load.run({ url: quoin.url, requests: [request], concurrency, ms }))),
              upstreamRequests: upstream.length
            }),
            '@fastify/http-proxy': () => observed(proxy.pid, () => load.run({ url: proxy.url, ...requests, concurrency, ms })),
            'the CMS itself': () => load.run({ url: cms.url, ...requests, concurrency, ms })
          })
        )
      }
    }
    return comparisons
  } finally {
    for (const each of [quoin, proxy, load, cms, store]) await each.close()
  }
}

export const editions: Suite = { name: 'editions', title: 'Editions', run: beforeStub }
