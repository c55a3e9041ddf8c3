import { Jsona } from 'jsona'
import * as kitsu from 'kitsu-core'
import { createCms } from '../../../dev/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { createEditions } from '../../../lib/editions/editions.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { createHttp, createJsonapi, type Jsonapi } from '../../../lib/jsonapi/client.ts'
import { isDocument, type Document } from '../../../lib/jsonapi/document.ts'
import { basic, enlarged } from '../../editions/site.ts'
import { serveTasks } from '../tasks.ts'

// Takes the same page of 50 editions apart in several ways, in this process.

export interface Translation { contestant: string, ms: number }

const PAGES = 20

// 50 editions in the bundle daily.
const cms = createCms({ content: enlarged(newspaper(), 8) })
const cmsUrl = await cms.listen()
const http = createHttp({ url: cmsUrl, timeoutMs: 5000 })
const live = createJsonapi({ http, jsonapiPath: '/jsonapi' })
const caller = basic('editor')
const answers = new Map<string, Document>()

/** What the sample CMS said to the same request before; as for a document that has just been parsed, its members are checked. */
const request: Jsonapi['request'] = async (one) => {
  const key = `${one.path}?${new URLSearchParams([...one.query ?? []] as Array<[string, string]>).toString()}`
  const known = answers.get(key)
  if (known && isDocument(known)) return { status: 200, document: known }
  const answer = await live.request(one)
  answers.set(key, answer.document)
  return answer
}

const editions = createEditions({ cms: { request }, model: contentModel({}), cmsUrl, warn () {} })
const list = () => editions.search('daily', { limit: 50, offset: 0, total: false }, caller)
for (let time = 0; time < 3; time++) await list()
const page = [...answers].findLast(([key]) => key.includes('include='))![1]
await http.close()
await cms.close()

const text = JSON.stringify(page)
const jsona = new Jsona()
const { deserialise } = kitsu as unknown as { deserialise: (document: object) => Promise<unknown> }

const contestants: Record<string, (document: Document) => unknown> = {
  Quoin: list,
  'JSON.parse': () => JSON.parse(text),
  jsona: (document) => jsona.deserialize(document as never),
  'kitsu-core': (document) => deserialise(document)
}

serveTasks(async ({ contestant, ms }: Translation) => {
  const translate = contestants[contestant]!
  const times: number[] = []
  for (const end = performance.now() + ms; performance.now() < end;) {
    // Some of them change the document.
    const documents = Array.from({ length: PAGES }, () => JSON.parse(text) as Document)
    const started = performance.now()
    for (const document of documents) await translate(document)
    times.push((performance.now() - started) / PAGES)
  }
  times.sort((a, b) => a - b)
  return { pageUs: times[Math.floor(times.length / 2)]! * 1000 }
})
