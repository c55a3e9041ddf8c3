import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { MODULE_SECRET } from '../boards/fixtures.ts'
import { seedOf } from '../fixtures/property.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { databaseKind } from './database.ts'
import { openBrowser, type Form } from './forms.ts'
import { enableModule } from './module.ts'
import { nodesJsonapiPath, startNodes, startNodesQuoin, type NodesSite } from './nodes.ts'
import { core, quoin, signIn } from './quoin.ts'

const HISTORIES = Number(process.env['MODULE_HISTORIES'] ?? 8)
const ROUNDS = 5
const JSONAPI = { accept: 'application/vnd.api+json', 'content-type': 'application/vnd.api+json' }

const FIELDS = ['title', 'field_banner', 'field_labels'] as const
type Field = (typeof FIELDS)[number]
type Values = Record<Field, string>

/** Who saves: editors by each way, and somebody who may save over locks. */
const PEOPLE = ['editor', 'editor2', 'admin'] as const
type Person = (typeof PEOPLE)[number]
const WAYS = ['form', 'stale form', 'jsonapi', 'rest', 'desk'] as const

/** A save that is decided, and what became of it. */
interface Save {
  person: Person
  way: (typeof WAYS)[number]
  isOver: boolean
  changes: Partial<Values>
  isSaved: boolean
  /** What it was answered, where it was not saved. */
  answer: string
}

/** What is stored: the fields of a node, and how many saves Drupal has made without an answer of Quoin. */
interface Stored extends Values {
  unchecked: number
}

/** The fields are those of the original language. */
const STORED = `SELECT d.title, b.field_banner_value AS field_banner, l.field_labels_value AS field_labels,
    (SELECT COUNT(*) FROM watchdog WHERE type = 'quoin' AND message LIKE '%without a check%') AS unchecked
  FROM node_field_data d
  LEFT JOIN node__field_banner b ON b.entity_id = d.nid AND b.langcode = d.langcode AND b.delta = 0
  LEFT JOIN node__field_labels l ON l.entity_id = d.nid AND l.langcode = d.langcode AND l.delta = 0
  WHERE d.default_langcode = 1 AND d.nid = `

/**
 * Reads what is stored. Drupal itself may show an earlier state: a request that began to load an entity before a save
 * puts what it has loaded into the cache after it.
 */
function openDatabase(t: Test, { root, php }: NodesSite): (id: number) => Promise<Stored> {
  if (databaseKind !== 'sqlite') {
    return async (id) => JSON.parse(await php(`return \\Drupal::database()->query("${STORED}${id}")->fetchAssoc();`)) as Stored
  }
  const database = new DatabaseSync(join(root, 'sites/default/site.sqlite'), { readOnly: true })
  t.teardown(() => database.close())
  return async (id) => ({ ...database.prepare(STORED + id).get() }) as unknown as Stored
}

/** Numbers that a seed decides (mulberry32). */
function numbersOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

t.test(
  'nothing locked is saved over without *Save over it*, in random histories of forms, APIs and the desk',
  { timeout: 3_600_000 },
  async (t) => {
    const site = await startNodes(8)
    t.teardown(site.stop)
    const { endpoint } = await startEngine(t, 'dynalite')
    const service = await startNodesQuoin(site, undefined, '', {
      DYNAMODB_ENDPOINT: endpoint,
      CMS_MODULE_SECRET: MODULE_SECRET,
      EDITION_LOCKS: 'enforce'
    })
    t.teardown(() => service.close())
    const url = await service.listen({ host: '127.0.0.1', port: 0 })
    await enableModule(site, { url, secret: MODULE_SECRET })
    const id = site.content.editions[0]!
    const uids: Record<Person, string> = {
      editor: String(site.content.users['editor']),
      editor2: String(site.content.users['editor2']),
      admin: '1'
    }
    const sessions = {} as Record<Person, { session: Record<string, string>; browser: Awaited<ReturnType<typeof openBrowser>> }>
    for (const person of PEOPLE) sessions[person] = { session: await signIn(site, person), browser: await openBrowser(site, person) }
    const { uuid } = (await core(site, sessions.admin.session, 'GET', `/node/${id}`)).body
    const resource = `${site.url}${nodesJsonapiPath}/node/issue/${uuid[0].value}`

    const read = openDatabase(t, site)

    /** Makes a save, by whatever way. */
    async function make(save: Save, stale: Form | undefined): Promise<void> {
      const { status, text } = await send(save, stale)
      save.isSaved = status === (save.way.endsWith('form') ? 303 : 200)
      if (!save.isSaved) save.answer = `${status} ${text}`
    }

    async function send({ person, way, isOver, changes }: Save, stale: Form | undefined): Promise<{ status: number; text: string }> {
      const { session, browser } = sessions[person]
      const header: Record<string, string> = isOver ? { 'quoin-save-over': '1' } : {}
      const items = Object.fromEntries(Object.entries(changes).map(([field, text]) => [field, [{ value: text }]]))
      const answered = ({ status, body }: { status: number; body: unknown }) => ({ status, text: JSON.stringify(body) })
      switch (way) {
        case 'form':
        case 'stale form': {
          const form = stale ?? (await browser.open(`/node/${id}/edit`))
          const texts = Object.fromEntries(Object.entries(changes).map(([field, text]) => [`${field}[0][value]`, text]))
          const { status, location = '', messages } = await browser.submit(form, { ...texts, ...(isOver && { quoin_save_over: '1' }) })
          return location.endsWith('/edit') ? { status: 422, text: 'back to the form' } : { status, text: messages }
        }
        case 'jsonapi': {
          const { field_labels: labels, ...others } = changes
          const attributes = { ...others, ...(labels !== undefined && { field_labels: [labels] }) }
          const body = JSON.stringify({ data: { type: 'node--issue', id: uuid[0].value, attributes } })
          const response = await fetch(resource, { method: 'PATCH', headers: { ...session, ...JSONAPI, ...header }, body })
          return { status: response.status, text: await response.text() }
        }
        case 'rest':
          return answered(await core(site, { ...session, ...header }, 'PATCH', `/node/${id}`, { type: [{ target_id: 'issue' }], ...items }))
        case 'desk':
          return answered(await quoin(service, { ...session, 'x-user-uid': uids[person] }, 'POST', `/api/collection/${id}`, items))
      }
    }

    async function lock(field: Field, person: Person | undefined): Promise<void> {
      const url = `/api/cloud/data-state/node/${id}`
      const { statusCode } = person
        ? await service.inject({ method: 'PUT', url, payload: { fieldName: field, userData: { uid: uids[person], name: person } } })
        : await service.inject({ method: 'DELETE', url: `${url}?fieldName=${field}` })
      if (statusCode !== 200) throw new Error(`lock: ${statusCode}`)
    }

    await site.php("\\Drupal::service('module_installer')->install(['dblog']);")
    /** What Drupal says of saves whose locks it could not check, and of errors. */
    const logged = () =>
      site.php(
        "return \\Drupal::database()->query(\"SELECT message || ' ' || variables FROM {watchdog} WHERE type IN ('quoin', 'php')\")->fetchCol();"
      )

    const seed = seedOf(37)
    const counts = { saved: 0, refused: 0, over: 0, failed: 0, unchecked: 0 }
    let before = await read(id)
    for (let history = 0; history < HISTORIES; history++) {
      const below = numbersOf(seed + history)
      const isTrue = (percent: number) => below(100) < percent
      const holders: Partial<Record<Field, Person>> = {}
      const mistakes: string[] = []
      for (const field of FIELDS) await lock(field, undefined)
      for (let round = 0; round < ROUNDS && mistakes.length === 0; round++) {
        const saves = Array.from({ length: 1 + below(3) }, (_, index): Save => {
          const fields = FIELDS.filter(() => isTrue(50))
          return {
            person: PEOPLE[below(PEOPLE.length)]!,
            way: WAYS[below(WAYS.length)]!,
            isOver: isTrue(25),
            changes: Object.fromEntries(
              (fields.length > 0 ? fields : ['title']).map((field) => [field, `${history}.${round}.${index} ${field}`])
            ),
            isSaved: false,
            answer: ''
          }
        })
        // Before the locks are what they will be at the save.
        const stale = await Promise.all(
          saves.map(({ person, way }) => (way === 'stale form' ? sessions[person].browser.open(`/node/${id}/edit`) : undefined))
        )
        for (const field of FIELDS.filter(() => isTrue(60))) {
          const person = isTrue(70) ? PEOPLE[below(PEOPLE.length)] : undefined
          await lock(field, person)
          if (person) holders[field] = person
          else delete holders[field]
        }
        // All at once: the locks stay as they are meanwhile.
        await Promise.all(saves.map((save, index) => make(save, stale[index])))
        const after = await read(id)
        mistakes.push(...mistakesIn({ holders, saves, before, after, counts }))
        if (mistakes.length > 0) mistakes.push(JSON.stringify({ round, holders, saves, before, after }, null, 1), await logged())
        before = after
      }
      t.strictSame(mistakes, [], `history ${history} of seed ${seed}`)
    }
    t.comment(`${HISTORIES} histories: ${JSON.stringify(counts)}`)
  }
)

interface Round {
  holders: Partial<Record<Field, Person>>
  saves: Save[]
  before: Stored
  after: Stored
  counts: Record<'saved' | 'refused' | 'over' | 'failed' | 'unchecked', number>
}

/**
 * What of a round must not be: a lock that was saved over, a save that is gone, a refusal without a reason. A save whose
 * locks Drupal could not check in time goes on, and its log says so: then a lock may be saved over.
 */
function mistakesIn({ holders, saves, before, after, counts }: Round): string[] {
  const mistakes: string[] = []
  const isUnchecked = Number(after.unchecked) > Number(before.unchecked)
  if (isUnchecked) counts.unchecked++
  const mayChange = ({ person, way, isOver }: Save, field: Field) =>
    [undefined, person].includes(holders[field]) || (way !== 'desk' && (isUnchecked || (isOver && person === 'admin')))
  for (const field of FIELDS) {
    const savers = saves.filter((save) => save.isSaved && save.changes[field] !== undefined)
    const allowed = savers.filter((save) => mayChange(save, field))
    const isAllowed =
      allowed.some(({ changes }) => changes[field] === after[field]) || (allowed.length === 0 && after[field] === before[field])
    if (isAllowed && holders[field] && allowed.some(({ person }) => person !== holders[field])) counts.over++
    if (isAllowed) continue
    mistakes.push(`${field} of ${holders[field] ?? 'nobody'}: ${before[field]} became ${after[field]}`)
  }
  for (const save of saves) {
    const isFree = FIELDS.every((field) => save.changes[field] === undefined || mayChange(save, field))
    counts[save.isSaved ? 'saved' : isFree ? 'failed' : 'refused']++
    if (save.isSaved && !isFree) mistakes.push(`saved over a lock: ${JSON.stringify(save)}`)
    if (!save.isSaved && isFree && saves.length === 1) mistakes.push(`not saved: ${JSON.stringify(save)}`)
  }
  return mistakes
}
