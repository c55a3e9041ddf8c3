import { Jsona } from 'jsona'
import * as kitsu from 'kitsu-core'
import { createCms } from '../../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { contentModel } from '#lib/editions/model.ts'
import { pageQuery } from '#lib/editions/translate/query.ts'
import { read } from '#lib/editions/translate/read.ts'
import { createResources } from '#lib/editions/lookup/resources.ts'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { createHttp } from '#lib/http/client.ts'
import { isDocument, type Document } from '#lib/drupal/document.ts'
import { basic, enlarged } from '../../editions/site.ts'
import { serveTasks } from '../tasks.ts'
import { newCaller } from '#lib/http/calls.ts'

// Takes the same page of 50 editions apart in several ways, in this process.

export interface Translation {
  contestant: string
  ms: number
}

// 50 editions in the bundle daily.
const drupal = createCms({ content: enlarged(newspaper(), 8) })
const cmsUrl = await drupal.listen()
const http = createHttp({ url: cmsUrl, timeoutMs: 5000 })
const live = createJsonapi({ http, jsonapiPath: '/jsonapi' })
const caller = newCaller(basic('editor'))

/** What is answered from then on, and what was answered last with included resources. */
let page: Document | undefined
let seen: Document | undefined

const request: Jsonapi['request'] = async (one) => {
  // As of a document that has just been parsed, its members are checked.
  if (page && isDocument(page)) return { status: 200, document: page }
  const answer = await live.request(one)
  if (answer.document.included) seen = answer.document
  return answer
}

const cms = { request }
const model = contentModel({})
const site = createSite({ cms, model, cmsUrl, warn() {} })
const resources = createResources(site)
const collection = (await site.catalog.editions(caller)).find(({ bundle }) => bundle === 'daily')!

async function list(): Promise<object[]> {
  const { rows } = await resources.page(collection, pageQuery(0, 50, model), caller)
  return rows.map(({ resource, urlOf }) => read(resource, model, urlOf, site.planFor(resource)))
}

for (let time = 0; time < 3; time++) await list()
await http.close()
await drupal.close()

const text = JSON.stringify(seen)
const jsona = new Jsona()
const { deserialise } = kitsu as unknown as { deserialise: (document: object) => Promise<unknown> }

const contestants: Record<string, (document: Document) => unknown> = {
  Quoin(document) {
    page = document
    return list()
  },
  'JSON.parse': () => JSON.parse(text),
  jsona: (document) => jsona.deserialize(document as never),
  'kitsu-core': (document) => deserialise(document)
}

serveTasks(async ({ contestant, ms }: Translation) => {
  const translate = contestants[contestant]!
  const times: number[] = []
  for (const end = performance.now() + ms; performance.now() < end;) {
    // One that nobody has seen yet, parsed just before; some of them change it.
    const document: Document = JSON.parse(text)
    const started = performance.now()
    await translate(document)
    times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  return { pageUs: times[Math.floor(times.length / 2)]! * 1000 }
})
