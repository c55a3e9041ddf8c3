import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCms, type CmsContent, type Seed } from '../../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { REPLAYED, type Asked } from './asked.ts'
import { editionOf, savedText, type EditionDocument, type SavedEdition } from './saved-edition.ts'

// A CMS that answers at once: what it was asked once it answers as the sample CMS did then. After PUT /changing all that is
// read comes in other bytes each time, of the same meaning, until DELETE /changing. What is created has the uuid that it is
// sent with. A PATCH is a save as in Drupal: from then on the edition is read with its attributes, the next revision and the
// time as `changed`; another `changed` than that is refused. What REPLAYED names is sent again, for comparison: it changes
// editions that nobody else sees, whatever their `changed` is. GET /asked tells, and forgets, what was asked of it.
// MORE_EDITIONS adds so many, with the ids after those of the sample CMS.

interface Answer {
  status: number
  headers: Record<string, string>
  bodies: [Buffer, Buffer]
  /** Of one edition, which has this uuid. */
  document?: EditionDocument
  uuid?: string
  created?: string
}

/** The first revision of a save: greater than any of the sample CMS. */
const FIRST_REVISION = 1_000_000

// What is written goes to a CMS of its own, so that what is read stays as it was; what was saved is read there.
const [read, written] = await Promise.all([newspaper(), newspaper()].map((content) => createCms({ content: enlarged(content) }).listen()))
const answers = new Map<string, Promise<Answer>>()
const savedEditions = new Map<string, SavedEdition>()
const asked: Asked[] = []
/** How often what is at a path was read by a caller while it changes. */
const changes = new Map<string, number>()
let changing = false
let revision = FIRST_REVISION

function enlarged(content: CmsContent): CmsContent {
  const last = content.entities.findLast(({ type }) => type === 'publisher_container--daily')!
  const more = Array.from({ length: Number(process.env['MORE_EDITIONS'] ?? 0) }, (_, index): Seed => {
    const id = Number(last.id) + 1 + index
    return { ...last, id, uuid: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`, revision: id }
  })
  return { ...content, entities: [...content.entities, ...more] }
}

function remembered(key: string, request: IncomingMessage, body: string, cms = request.method === 'GET' ? read : written): Promise<Answer> {
  const answer = answers.get(key) ?? first(request, body, cms!)
  answers.set(key, answer)
  return answer
}

async function first({ method, url, headers }: IncomingMessage, body: string, cms: string): Promise<Answer> {
  const { host, connection, 'content-length': length, 'transfer-encoding': coding, ...rest } = headers
  const response = await fetch(cms + url, {
    method: method!,
    headers: rest as Record<string, string>,
    ...(body && { body: method === 'PATCH' ? withoutChanged(body) : body })
  })
  const { date, connection: _, 'transfer-encoding': __, ...kept } = Object.fromEntries(response.headers)
  const text = await response.text()
  const document = EDITIONS.test(url!) && response.ok ? (JSON.parse(text) as EditionDocument) : undefined
  const edition = document && editionOf(document)
  return {
    status: response.status,
    headers: kept,
    bodies: [Buffer.from(text), Buffer.from(`${text}\n`)],
    ...(edition && { document: document!, uuid: edition.id }),
    ...(method === 'POST' && { created: uuidIn(body) })
  }
}

const pathOf = (url: string) => url.split('?', 1)[0]!
const EDITIONS = /^\/jsonapi\/publisher_container\//
const uuidIn = (body: string) => (JSON.parse(body) as { data: { id: string } }).data.id

/** The time of change is compared here: the CMS behind has another. */
function withoutChanged(body: string): string {
  const document = JSON.parse(body) as { data: { attributes?: Record<string, unknown> } }
  delete document.data.attributes?.['changed']
  return JSON.stringify(document)
}

/** Saves an edition as a PATCH asks. @returns undefined where its `changed` is not the present one */
async function save(name: string, body: string, request: IncomingMessage): Promise<SavedEdition | undefined> {
  const { changed, ...attributes } = (JSON.parse(body) as { data: { attributes?: Record<string, unknown> } }).data.attributes ?? {}
  const isReplayed = request.headers[REPLAYED] !== undefined
  if (changed !== undefined && !isReplayed && !isSame(changed, await changedOf(name, request))) return undefined
  const time = new Date().toISOString().replace(/\.\d+Z/, '+00:00')
  const saved = { attributes: { ...savedEditions.get(name)?.attributes, ...attributes }, changed: time, revision: ++revision }
  savedEditions.set(name, saved)
  return saved
}

async function changedOf(name: string, { url, headers: { accept, authorization } }: IncomingMessage): Promise<unknown> {
  const known = savedEditions.get(name)
  if (known) return known.changed
  const response = await fetch(read + pathOf(url!), { headers: { accept: accept!, authorization: authorization! } })
  return ((await response.json()) as { data: { attributes: { changed: string } } }).data.attributes.changed
}

function isSame(one: unknown, other: unknown): boolean {
  return Date.parse(String(one)) === Date.parse(String(other))
}

/** As Drupal refuses it (docs/drupal.md). */
const stale = Buffer.from(
  JSON.stringify({
    jsonapi: { version: '1.0' },
    errors: [
      {
        title: 'Forbidden',
        status: '403',
        detail: 'The current user is not allowed to PATCH the selected field (changed).',
        source: { pointer: '/data/attributes/changed' }
      }
    ]
  })
)

async function answerTo(
  request: IncomingMessage,
  body: string
): Promise<{ status: number; headers: Record<string, string>; text: Buffer }> {
  const { method, url, headers } = request as IncomingMessage & { method: string; url: string }
  const key = `${method} ${url}`
  const before = remembered(key, request, body)
  const { uuid } = await before
  const name = `${headers[REPLAYED] ?? ''} ${uuid}`
  const saved = method === 'PATCH' ? await save(name, body, request) : savedEditions.get(name)
  const isRead = method === 'GET' && saved
  const {
    status,
    headers: fields,
    bodies,
    document,
    created
  } = await (isRead ? remembered(`${key}, saved`, request, body, written) : before)
  if (method === 'PATCH' && !saved) return { status: 403, headers: fields, text: stale }
  if (document && saved) return { status, headers: fields, text: Buffer.from(savedText(document, saved)) }

  const place = `${pathOf(url)} ${headers['accept-language']}`
  if (changing) changes.set(place, (changes.get(place) ?? 0) + 1)
  const text = bodies[((changes.get(place) ?? 0) % 2) as 0 | 1]
  return { status, headers: fields, text: created === undefined ? text : Buffer.from(text.toString().replaceAll(created, uuidIn(body))) }
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { method, url } = request as { method: string; url: string }
  if (url === '/asked') {
    response.end(JSON.stringify(asked.splice(0)))
    return
  }
  if (url === '/changing') {
    changing = method === 'PUT'
    response.end()
    return
  }
  const body = Buffer.concat(chunks).toString()
  const { status, headers, text } = await answerTo(request, body)
  if (asked.length < 100) {
    asked.push({
      method,
      path: url,
      headers: { accept: request.headers.accept!, ...(body && { 'content-type': request.headers['content-type']! }) },
      body,
      status
    })
  }
  response.writeHead(status, { ...headers, 'content-length': text.length }).end(text)
})

server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
