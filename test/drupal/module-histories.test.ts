import t from 'tap'
import { MODULE_SECRET } from '../boards/fixtures.ts'
import { seedOf } from '../fixtures/property.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { openBrowser, type Form } from './forms.ts'
import { enableModule } from './module.ts'
import { nodesJsonapiPath, startNodes, startNodesQuoin } from './nodes.ts'
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
  status: number
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

    async function read(): Promise<Values> {
      const { body } = await core(site, sessions.admin.session, 'GET', `/node/${id}`)
      const textOf = (field: Field) => String(body[field][0]?.value ?? '')
      return { title: textOf('title'), field_banner: textOf('field_banner'), field_labels: textOf('field_labels') }
    }

    /** Makes a save, by whatever way. @returns its status */
    async function make({ person, way, isOver, changes }: Save, stale: Form): Promise<number> {
      const { session, browser } = sessions[person]
      const header: Record<string, string> = isOver ? { 'quoin-save-over': '1' } : {}
      const items = Object.fromEntries(Object.entries(changes).map(([field, text]) => [field, [{ value: text }]]))
      switch (way) {
        case 'form':
        case 'stale form': {
          const form = way === 'form' ? await browser.open(`/node/${id}/edit`) : stale
          const texts = Object.fromEntries(Object.entries(changes).map(([field, text]) => [`${field}[0][value]`, text]))
          return (await browser.submit(form, { ...texts, ...(isOver && { quoin_save_over: '1' }) })).status
        }
        case 'jsonapi': {
          const { field_labels: labels, ...others } = changes
          const attributes = { ...others, ...(labels !== undefined && { field_labels: [labels] }) }
          const body = JSON.stringify({ data: { type: 'node--issue', id: uuid[0].value, attributes } })
          return (await fetch(resource, { method: 'PATCH', headers: { ...session, ...JSONAPI, ...header }, body })).status
        }
        case 'rest':
          return (await core(site, { ...session, ...header }, 'PATCH', `/node/${id}`, { type: [{ target_id: 'issue' }], ...items })).status
        case 'desk':
          return (await quoin(service, { ...session, 'x-user-uid': uids[person] }, 'POST', `/api/collection/${id}`, items)).status
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
    const counts = { saved: 0, refused: 0, over: 0, failed: 0 }
    for (let history = 0; history < HISTORIES; history++) {
      const below = numbersOf(seed + history)
      const isTrue = (percent: number) => below(100) < percent
      const holders: Partial<Record<Field, Person>> = {}
      const mistakes: string[] = []
      for (const field of FIELDS) await lock(field, undefined)
      for (let round = 0; round < ROUNDS; round++) {
        const stale = Object.fromEntries(
          await Promise.all(PEOPLE.map(async (person) => [person, await sessions[person].browser.open(`/node/${id}/edit`)]))
        ) as Record<Person, Form>
        for (const field of FIELDS.filter(() => isTrue(60))) {
          const person = isTrue(70) ? PEOPLE[below(PEOPLE.length)] : undefined
          await lock(field, person)
          if (person) holders[field] = person
          else delete holders[field]
        }
        const before = await read()
        const saves = Array.from({ length: 1 + below(3) }, (_, index): Save => {
          const fields = FIELDS.filter(() => isTrue(50))
          return {
            person: PEOPLE[below(PEOPLE.length)]!,
            way: WAYS[below(WAYS.length)]!,
            isOver: isTrue(25),
            changes: Object.fromEntries(
              (fields.length > 0 ? fields : ['title']).map((field) => [field, `${history}.${round}.${index} ${field}`])
            ),
            status: 0
          }
        })
        // All at once: the locks stay as they are meanwhile.
        await Promise.all(
          saves.map(async (save) => {
            save.status = await make(save, stale[save.person])
          })
        )
        const after = await read()
        const mayChange = ({ person, way, isOver }: Save, field: Field) =>
          [undefined, person].includes(holders[field]) || (isOver && person === 'admin' && way !== 'desk')
        for (const field of FIELDS.filter((field) => after[field] !== before[field])) {
          const by = saves.filter(({ changes }) => changes[field] === after[field])
          const isOwn = by.some((save) => mayChange(save, field))
          if (!isOwn && holders[field]) mistakes.push(`${field} of ${holders[field]}: ${before[field]} became ${after[field]}`)
          if (isOwn && holders[field] && by.every(({ person }) => person !== holders[field])) counts.over++
        }
        for (const save of saves) {
          const isSaved = [200, 303].includes(save.status) && save.status === (save.way.endsWith('form') ? 303 : 200)
          const isFree = FIELDS.every((field) => save.changes[field] === undefined || mayChange(save, field))
          if (isSaved) counts.saved++
          else if (isFree) counts.failed++
          else counts.refused++
          if (isSaved && !isFree) mistakes.push(`saved over a lock: ${JSON.stringify(save)}`)
          if (!isSaved && isFree && saves.length === 1 && save.way !== 'stale form') mistakes.push(`not saved: ${JSON.stringify(save)}`)
        }
        if (mistakes.length > 0) {
          mistakes.push(JSON.stringify({ round, holders, saves }), await logged())
          break
        }
      }
      t.strictSame(mistakes, [], `history ${history} of seed ${seed}`)
    }
    t.comment(`${HISTORIES} histories: ${JSON.stringify(counts)}`)
  }
)
