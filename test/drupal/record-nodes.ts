/**
 * `node test/drupal/record-nodes.ts`: keeps what the site of nodes answers to Quoin and by core REST, in
 * test/fixtures/recordings/nodes-<version>.ndjson.br. test/editions/nodes-recorded.test.ts replays it without a Drupal.
 * It has to be made anew when Quoin asks Drupal otherwise than before; `setup`, `reads` and `saves` name a part.
 */
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { brotliCompressSync, constants } from 'node:zlib'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { contentModel } from '#lib/editions/model.ts'
import { createHttp } from '#lib/http/client.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { checkCms } from '../../packages/setup/doctor/cms.ts'
import { nodesRecording, nodesScenes, userOf, withOrigin, type Exchange, type Scene, type SceneOf } from '../fixtures/nodes-recordings.ts'
import { example } from '../fixtures/replay.ts'
import { inFlight } from './compare.ts'
import { listedIn, listsAsked, type Edition } from './editions-of.ts'
import { nodesEditions, nodesJsonapiPath, nodesPrefixes, savesAsked, startNodes, startNodesQuoin, type NodesSite } from './nodes.ts'
import { contentModelFile, core, quoin, signIn } from './quoin.ts'
import { writtenModel } from './written.ts'

const KEPT_HEADERS = [
  'allow',
  'cache-control',
  'content-language',
  'content-type',
  'etag',
  'location',
  'vary',
  'www-authenticate',
  'x-drupal-cache',
  'x-drupal-dynamic-cache'
]

/** Who reads which languages. */
const READERS: Record<string, string[]> = { nl: ['editor', 'reader'], en: ['editor'], fr: ['editor'] }

type Session = Record<string, string>

interface Recorder {
  url: string
  /** What was asked and answered since this was called last. */
  take: () => Exchange[]
  close: () => void
}

/** Stands between Quoin and a site. Drupal is asked under its address, so that it links there. */
async function startRecorder(site: NodesSite): Promise<Recorder> {
  let exchanges: Exchange[] = []
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = request
    const body = Buffer.concat(chunks).toString()
    const exchange: Exchange = {
      request: { method, path, as: userOf(headers.authorization), body },
      response: { status: 0, headers: {}, body: '' }
    }
    exchanges.push(exchange)
    const answer = await fetch(site.url + path, {
      method,
      redirect: 'manual',
      headers: await handedOn(site, headers),
      ...(body !== '' && { body })
    })
    const text = await answer.text()
    const kept = Object.fromEntries(KEPT_HEADERS.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name)!]] : [])))
    exchange.response = JSON.parse(
      withOrigin(JSON.stringify({ status: answer.status, headers: kept, body: withOrigin(text, site.url, example) }), site.url, example)
    )
    reply.writeHead(answer.status, kept).end(withOrigin(text, site.url, url))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    take() {
      const taken = exchanges
      exchanges = []
      return taken
    },
    close: () => {
      server.close()
    }
  }
}

const sessions = new Map<string, Promise<Session>>()

/** The headers of a request, with a session in place of the password, which costs Drupal more than the answer. */
async function handedOn(site: NodesSite, headers: IncomingHttpHeaders): Promise<Session> {
  const { host: _1, connection: _2, 'content-length': _3, 'transfer-encoding': _4, authorization, ...others } = headers
  const user = userOf(authorization)
  const session = user === '' ? {} : (sessions.get(user) ?? signIn(site, user))
  if (user !== '') sessions.set(user, Promise.resolve(session))
  return { ...(others as Record<string, string>), ...(await session) }
}

const shown = new Map<string, Promise<boolean>>()

/** Whether JSON:API shows a user an entity. */
function shows(site: NodesSite, session: Session, type: string, uuid: string): Promise<boolean> {
  const bundles = nodesEditions.targets[type]
  if (!bundles) return Promise.resolve(true)
  const ask = async () => {
    const answers = await Promise.all(
      bundles.map((bundle) => fetch(`${site.url}${nodesJsonapiPath}/${type}/${bundle}/${uuid}`, { headers: session }))
    )
    return answers.some(({ status }) => status === 200)
  }
  const key = `${session['cookie']} ${uuid}`
  const answer = shown.get(key) ?? ask()
  shown.set(key, answer)
  return answer
}

/** The uuids in an answer of core REST whose entities JSON:API does not show this user. */
async function hiddenIn(site: NodesSite, session: Session, body: Edition): Promise<string[]> {
  const targets = Object.values(body)
    .flatMap((items) => (Array.isArray(items) ? items : []))
    .filter((item) => item?.target_uuid)
    .map(({ target_uuid: uuid, target_type: type }): [string, string] => [uuid, type])
  const hidden: string[] = []
  await inFlight(4, new Map(targets), async ([uuid, type]) => {
    if (!(await shows(site, session, type, uuid))) hidden.push(uuid)
  })
  return hidden.sort()
}

/** What can be recorded by itself. */
const PARTS = ['setup', 'reads', 'saves']
const parts = process.argv.length > 2 ? process.argv.slice(2) : PARTS

function partOf(kind: Scene['kind']): string {
  if (kind === 'save') return 'saves'
  return kind === 'read' || kind === 'list' ? 'reads' : 'setup'
}

/** Two equal sites: core REST saves in the one, Quoin in the other. */
const [site, twin] = await Promise.all([startNodes(), startNodes()])
const recorder = await startRecorder(site)
const scenes: Scene[] = []

/** A scene but for what Quoin asked. */
type Unrecorded<One = Scene> = One extends Scene ? Omit<One, 'exchanges'> : never

/** The end of a scene: keeps it without the addresses of this machine. */
function keep(scene: Unrecorded): void {
  const bare = [site.url, twin.url, recorder.url].reduce((text, url) => withOrigin(text, url, example), JSON.stringify(scene))
  scenes.push({ ...JSON.parse(bare), exchanges: recorder.take() })
  console.log(`${scenes.length} ${scene.name}`)
}

async function recordModel(user: string): Promise<string> {
  const at = { url: recorder.url, jsonapiPath: nodesJsonapiPath }
  const { file } = await writtenModel(at, user)
  keep({ kind: 'model', name: `model as ${user}`, user, language: 'nl' })
  const http = createHttp({ url: recorder.url, timeoutMs: 60_000 })
  const model = contentModel(contentModelFile(file))
  await report(checkCms({ ...at, http, account: basicAccount({ http, jsonapiPath: nodesJsonapiPath }, user, user), model }), () => {})
  http.close()
  keep({ kind: 'doctor', name: `doctor as ${user}`, user, language: 'nl' })
  return file
}

/** Core REST is asked for all of a kind first: what a service remembers has to last until its last question. */
async function recordReads(service: FastifyInstance, language: string, user: string): Promise<void> {
  const { editions, pending, cases } = site.content
  const ids = [...editions.slice(0, 6), ...editions.slice(70, 72), pending[0]!, pending.at(-1)!, ...Object.values(cases)]
  const session = await signIn(site, user)
  const asked = new Map<number, Pick<SceneOf<'read'>, 'url' | 'core' | 'hiddenTargets'>>()
  await inFlight(4, ids, async (id) => {
    const { status, body } = await core(site, session, 'GET', `${nodesPrefixes[language]}/node/${id}`)
    const hiddenTargets = await hiddenIn(site, session, body)
    asked.set(id, { url: `/api/collection/${body.uuid?.[0].value ?? id}`, core: { status, body }, hiddenTargets })
  })
  for (const id of ids) {
    const scene = asked.get(id)!
    await quoin(service, user, 'GET', scene.url)
    keep({ kind: 'read', name: `${id} as ${user}, ${language}`, user, language, ...scene })
  }
}

/**
 * Each list is asked of a service of its own: how a page is asked for depends on when it was asked for before. Within
 * one search that depends on which page comes first, so that searches are left out.
 */
async function recordLists(beside: () => Promise<FastifyInstance>, user: string): Promise<void> {
  const session = await signIn(site, user)
  const visible: Edition[] = []
  await inFlight(4, site.content.editions, async (id) => {
    const { status, body } = await core(site, session, 'GET', `/node/${id}`)
    if (status === 200) visible.push(body)
  })
  for (const [list, query] of listsAsked(nodesEditions).filter(([, query]) => !new URLSearchParams(query).has('q'))) {
    const url = `/api/collections/${list}?${query}`
    const service = await beside()
    await quoin(service, user, 'GET', url)
    await service.close()
    keep({ kind: 'list', name: `${url} as ${user}`, user, language: 'nl', url, core: listedIn(nodesEditions, visible, list, query) })
  }
}

async function recordSaves(service: FastifyInstance, language: string): Promise<void> {
  const saves = savesAsked(site.content, language)
  const answers: Array<Pick<SceneOf<'save'>, 'core' | 'stored' | 'hiddenTargets'>> = []
  for (const { user, id, change } of saves) {
    const session = await signIn(twin, user)
    const path = `${nodesPrefixes[language]}/node/${id}`
    const { body: before } = await core(twin, session, 'GET', path)
    const { status, body } = await core(twin, session, 'PATCH', path, { type: before.type, ...change(before) })
    const stored = await core(twin, session, 'GET', path)
    const hiddenTargets = await hiddenIn(twin, session, stored.body)
    answers.push({ core: { status, body }, stored: { status: stored.status, body: stored.body }, hiddenTargets })
  }
  for (const [index, { name, user, id, change }] of saves.entries()) {
    const { body: before } = await core(site, await signIn(site, user), 'GET', `${nodesPrefixes[language]}/node/${id}`)
    const [url, body] = [`/api/collection/${before.uuid[0].value}`, change(before)]
    await quoin(service, user, 'POST', url, body)
    keep({ kind: 'save', name: `${name}, as ${user}, ${language}`, user, language, url, body, ...answers[index]! })
  }
}

try {
  const models = new Map<string, string>()
  for (const user of ['service', 'editor']) models.set(user, await recordModel(user))
  const model = models.get('editor')
  const beside = (language: string) => startNodesQuoin({ ...site, url: recorder.url }, model, nodesPrefixes[language])
  // What is saved changes what is read.
  for (const [language, users] of parts.includes('reads') ? Object.entries(READERS) : []) {
    for (const user of users) {
      const service = await beside(language)
      await recordReads(service, language, user)
      await service.close()
      if (language === 'nl') await recordLists(() => beside(language), user)
    }
  }
  for (const language of parts.includes('saves') ? Object.keys(READERS) : []) {
    const service = await beside(language)
    await recordSaves(service, language)
    await service.close()
  }
  const earlier = nodesScenes(site.version).filter(({ kind }) => !parts.includes(partOf(kind)))
  const all = [...scenes.filter(({ kind }) => parts.includes(partOf(kind))), ...earlier]
  const inOrder = PARTS.flatMap((part) => all.filter(({ kind }) => partOf(kind) === part))
  const lines = inOrder.map((scene) => `${JSON.stringify(scene)}\n`).join('')
  const file = nodesRecording(site.version)
  writeFileSync(file, brotliCompressSync(lines, { params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS } }))
  console.log(`${scenes.length} scenes made, ${inOrder.length} in ${file.pathname}`)
} finally {
  recorder.close()
  await Promise.all([site.stop(), twin.stop()])
}
