import type { FastifyInstance } from 'fastify'
import { full, uuidOf, type Body } from './bodies.ts'
import { differences, expected, type Tally, type TellsAlias } from './compare.ts'
import { core, quoin, signIn, startQuoin, type Answer } from './quoin.ts'
import { startSite, type EditionCase, type Site } from './site.ts'

/** Two equal sites: one is written to through core REST, the other through Quoin. */
export interface Twins {
  sites: readonly [Site, Site]
  service: FastifyInstance
  stop: () => Promise<void>
}

/** What a body led to on either twin. */
export interface Outcome {
  core: Answer
  ours: Answer
  /** Where they differ: one line each. */
  lines: string[]
  /** Whether core saved and Quoin did not, or the other way round. */
  oneSaved: boolean
}

type Session = Record<string, string>

/** A user's sessions on both twins, and admin's. */
export interface Sessions {
  user: readonly [Session, Session]
  admin: readonly [Session, Session]
}

const collection = '/publisher_container'

export async function startTwins(): Promise<Twins> {
  const sites = await Promise.all([startSite(), startSite()])
  const service = await startQuoin(sites[1])
  return {
    sites,
    service,
    async stop() {
      await service.close()
      await Promise.all(sites.map((site) => site.stop()))
    }
  }
}

/** Signs a user and admin in on both twins, one after the other: the first on a site makes the key that its tokens are signed with. */
export async function signInTwice({ sites: [a, b] }: Twins, user: string): Promise<Sessions> {
  const both = (name: string) => Promise.all([signIn(a, name), signIn(b, name)])
  return { user: await both(user), admin: await both('admin') }
}

/** The edition that a body is about: one of the site's own, or a new one; its id is the same on both twins. */
export async function subjectOf(
  { sites: [a, b] }: Twins,
  body: Body,
  name: string,
  { admin }: Sessions,
  maySave: boolean
): Promise<number> {
  const named: Record<string, number> = { ...a.content.cases, full: 9, sparse: 12 }
  const known = body.subject === undefined ? undefined : named[body.subject as EditionCase]
  // Nobody changes it who may not save.
  if (known !== undefined || !maySave) return known ?? 1
  const edition = full(name, uuidOf(name))
  const [one, other] = await Promise.all([
    core(a, admin[0], 'POST', `/entity${collection}`, edition),
    core(b, admin[1], 'POST', `/entity${collection}`, edition)
  ])
  if (one.status !== 201 || other.status !== 201 || one.body.id[0].value !== other.body.id[0].value) {
    throw new Error(`no subject: ${JSON.stringify([one, other])}`)
  }
  return one.body.id[0].value
}

/** Sends a body to both twins and compares the answers, and the editions as admin then reads them through core REST. */
export async function send(
  twins: Twins,
  body: Body,
  id: number | undefined,
  key: string,
  sessions: Sessions,
  since: number,
  tally: Tally,
  tellsAlias: TellsAlias
): Promise<Outcome> {
  const {
    sites: [a, b],
    service
  } = twins
  const { user, admin } = sessions
  const needsCurrent = id !== undefined && body.body.length > 0
  const context = await Promise.all([
    !needsCurrent ? {} : visible(core(a, user[0], 'GET', `${collection}/${id}`), core(a, admin[0], 'GET', `${collection}/${id}`)),
    !needsCurrent
      ? {}
      : visible(quoin(service, user[1], 'GET', `/api/collection/${id}`), quoin(service, admin[1], 'GET', `/api/collection/${id}`))
  ])
  const isNew = body.method === 'POST'
  const [one, ours] = await Promise.all([
    core(
      a,
      user[0],
      body.method,
      isNew ? `/entity${collection}` : `${collection}/${id}`,
      isNew ? typed(body.body({ key, current: context[0] })) : body.body({ key, current: context[0] })
    ),
    quoin(service, user[1], 'POST', isNew ? '/api/collection' : `/api/collection/${id}`, body.body({ key, current: context[1] }))
  ])
  const lines = differences({ ...one, body: one.status < 300 ? {} : one.body }, { ...ours, body: ours.status < 300 ? {} : ours.body })
  const oneSaved = one.status < 300 !== ours.status < 300
  if (oneSaved || one.status >= 300) return { core: one, ours, lines, oneSaved }

  const ids = isNew ? [one.body.id[0].value, ours.body.id[0].value] : [id, id]
  if (ids[0] !== ids[1]) lines.push(`id ${ids[0]}, not ${ids[1]}`)
  const [left, right, read] = await Promise.all([
    core(a, admin[0], 'GET', `${collection}/${ids[0]}`),
    core(b, admin[1], 'GET', `${collection}/${ids[1]}`),
    core(b, user[1], 'GET', `${collection}/${ids[1]}`)
  ])
  const of = (answer: Answer, site: Site) => ({ ...answer, body: comparable(answer.body, body, since, site.url) })
  lines.push(...differences(of(left, a), of(right, b)).map((line) => `saved ${line}`))
  // Drupal's answer to a write can differ from what it reads back, in both APIs alike.
  const likeCore = differences({ ...of(one, a), status: 200 }, { ...of(ours, b), status: 200 })
  const likeRead = differences({ ...read, body: await expected(read.body, tally, tellsAlias) }, { ...ours, status: 200 })
  if (likeCore.length > 0) lines.push(...likeRead.map((line) => `answered ${line}`))
  return { core: one, ours, lines, oneSaved }
}

/** A new edition of which only the bundle is sent gets the edition type of that name from Quoin; core is sent it. */
function typed(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || 'field_publisher_edition_type' in body) return body
  const { type } = body as { type?: any }
  const [item] = [type].flat()
  const bundle = typeof item === 'object' && item !== null ? (item.target_id ?? item.value) : item
  return bundle === 'daily' || bundle === 'special' ? { ...body, field_publisher_edition_type: [{ value: bundle }] } : body
}

/** Brings the sequences of ids into step again, after one twin has made an edition and the other has not. */
export async function level({ sites }: Twins, { admin }: Sessions, key: string): Promise<void> {
  for (let filler = 0; ; filler++) {
    const newest = await Promise.all(
      sites.map(async (site) =>
        Number(await site.php("return (int) max(\\Drupal::entityQuery('publisher_container')->accessCheck(FALSE)->execute());"))
      )
    )
    if (newest[0] === newest[1]) return
    const late = newest[0]! < newest[1]! ? 0 : 1
    const { status, body } = await core(sites[late], admin[late], 'POST', `/entity${collection}`, {
      type: 'daily',
      title: [{ value: 'Filler' }],
      field_key: [{ value: `${key}-${filler}` }]
    })
    if (status !== 201) throw new Error(`no filler: ${status} ${JSON.stringify(body)}`)
  }
}

async function visible(own: Promise<Answer>, admins: Promise<Answer>): Promise<any> {
  const [{ status, body }, all] = await Promise.all([own, admins])
  return status === 200 ? body : all.body
}

/** An edition without what every save sets, and, since JSON:API makes a revision where core REST does not, revision metadata. */
function comparable(edition: Record<string, any>, { method }: Body, since: number, origin: string): Record<string, unknown> {
  const set = new Set(
    method === 'POST' ? ['uuid', 'revision_id'] : ['revision_id', 'revision_uid', 'revision_timestamp', 'revision_translation_affected']
  )
  return Object.fromEntries(
    Object.entries(edition)
      .filter(([field]) => !set.has(field))
      .map(([field, items]) => {
        if (['created', 'changed', 'revision_timestamp'].includes(field) && Date.parse(items[0]?.value) >= since) return [field, 'now']
        return [field, JSON.parse(JSON.stringify(items).replaceAll(origin, ''))]
      })
  )
}
