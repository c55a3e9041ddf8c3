import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCms } from '../../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'

// A CMS that answers at once: what it was asked once it answers as the sample CMS did then. What was written to is answered
// in other bytes the next time, of the same meaning; after PUT /changing everything is, each time, until DELETE /changing.
// What is created has the uuid that it is sent with. A write does not show in what is read, so it answers with the revision
// that is read: to Quoin an older one is a state of before its save. GET /asked tells, and forgets, what was asked of it.

export interface Asked {
  method: string
  path: string
  headers: Record<string, string>
  body: string
  status: number
}
interface Answer {
  status: number
  headers: Record<string, string>
  bodies: [Buffer, Buffer]
  created?: string
}

// What is written goes to a CMS of its own, so that what is read stays as it was.
const [read, written] = await Promise.all([newspaper(), newspaper()].map((content) => createCms({ content }).listen()))
const answers = new Map<string, Promise<Answer>>()
const asked: Asked[] = []
/** How often what is at a path has changed for a caller. */
const changes = new Map<string, number>()
let changing = false

async function first({ method, url, headers }: IncomingMessage, body: string): Promise<Answer> {
  const { host, connection, 'content-length': length, 'transfer-encoding': coding, ...rest } = headers
  const response = await fetch((method === 'GET' ? read : written)! + url, {
    method: method!,
    headers: rest as Record<string, string>,
    ...(body && { body })
  })
  const { date, connection: _, 'transfer-encoding': __, ...kept } = Object.fromEntries(response.headers)
  const answer = await response.text()
  const text = method === 'PATCH' ? answer.replace(REVISION, REVISION.exec(await readText(url!.split('?', 1)[0]!, rest))![0]) : answer
  return {
    status: response.status,
    headers: kept,
    bodies: [Buffer.from(text), Buffer.from(`${text}\n`)],
    ...(method === 'POST' && { created: uuidIn(body) })
  }
}

const REVISION = /"drupal_internal__revision_id":\d+/

async function readText(path: string, headers: object): Promise<string> {
  return (await fetch(read + path, { headers: headers as Record<string, string> })).text()
}

const uuidIn = (body: string) => (JSON.parse(body) as { data: { id: string } }).data.id

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
  const key = `${method} ${url}`
  const place = `${url.split('?', 1)[0]} ${request.headers['accept-language']}`
  const answer = answers.get(key) ?? first(request, body)
  answers.set(key, answer)
  const { status, headers, bodies, created } = await answer
  if (changing || method !== 'GET') changes.set(place, (changes.get(place) ?? 0) + 1)
  const remembered = bodies[((changes.get(place) ?? 0) % 2) as 0 | 1]
  const given = created === undefined ? remembered : Buffer.from(remembered.toString().replaceAll(created, uuidIn(body)))
  if (asked.length < 100) {
    asked.push({
      method,
      path: url,
      headers: { accept: request.headers.accept!, ...(body && { 'content-type': request.headers['content-type']! }) },
      body,
      status
    })
  }
  response.writeHead(status, { ...headers, 'content-length': given.length }).end(given)
})

server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
