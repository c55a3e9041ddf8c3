import t from 'tap'
import { bodies, type Body } from './bodies.ts'
import { createTally, type TellsAlias } from './compare.ts'
import { deliberate, type Deliberate } from './deliberate.ts'
import { level, send, signInTwice, startTwins, subjectOf, type Outcome } from './twins.ts'

/** Bodies whose outcome depends on rights; admin, who has them all, is sent no others. */
const ofRights =
  /^(?:uid|the save|language|identity|text|note|many at once|unknown field): |articles: (?:hidden|unknown)|read edition|hidden|format|^every field|bundle/
const users = { editor: /./, admin: ofRights, reader: /./, anonymous: /./ }

t.test('bodies sent to core REST on one twin and to Quoin on the other have the same outcome', { timeout: 1_800_000 }, async (t) => {
  const twins = await startTwins()
  t.teardown(twins.stop)
  const [a, b] = twins.sites
  const seen = new Map<Deliberate, number>()
  const table: string[] = []
  let comparisons = 0
  let different = 0

  for (const [user, selection] of Object.entries(users)) {
    await t.test(`as ${user}`, { timeout: 900_000 }, async (t) => {
      await Promise.all([a.reset(), b.reset()])
      const begin = Date.now()
      const since = Math.floor(begin / 1000 - 1) * 1000
      const maySave = user === 'editor' || user === 'admin'
      const sessions = await signInTwice(twins, user)
      const tally = createTally()
      const visible = new Map<string, Promise<boolean>>()
      const tellsAlias: TellsAlias = (entityType, uuid) => {
        if (entityType !== 'node') return Promise.resolve(true)
        const told =
          visible.get(uuid) ??
          fetch(`${b.url}/jsonapi/node/article/${uuid}`, { headers: sessions.user[1] }).then(({ status }) => status === 200)
        visible.set(uuid, told)
        return told
      }
      const selected = bodies.filter(({ name }) => selection.test(name))
      let saved = 0
      let refused = 0
      let known = 0
      for (const [index, body] of selected.entries()) {
        const key = `${user}-${index}`
        const id =
          body.method === 'PATCH' || body.subject !== undefined || body.name.startsWith('a copy')
            ? await subjectOf(twins, body, `subject-${key}`, sessions, maySave)
            : undefined
        const outcome = await send(twins, body, id, key, sessions, since, tally, tellsAlias)
        comparisons++
        if (outcome.core.status < 300) saved++
        else refused++
        if (outcome.oneSaved && body.method === 'POST') await level(twins, sessions, `level-${key}`)
        if (outcome.lines.length === 0) continue
        const reason = deliberate.find((entry) => explains(entry, body, outcome))
        if (reason) {
          known++
          seen.set(reason, (seen.get(reason) ?? 0) + 1)
          continue
        }
        different++
        t.fail(`${body.method} ${body.name}`, { lines: outcome.lines })
      }
      t.equal(comparisons > 0, true)
      if (!maySave) t.equal(saved, 0, 'nobody saves who may not')
      table.push(
        `${user.padEnd(9)} ${String(selected.length).padStart(4)} bodies: core saved ${String(saved).padStart(3)}, refused ${String(refused).padStart(3)}; deliberate differences ${String(known).padStart(3)}; ${((Date.now() - begin) / 1000).toFixed(0)} s`
      )
    })
  }

  t.strictSame(
    deliberate.filter((entry) => !seen.has(entry)).map(({ name }) => name),
    [],
    'every deliberate difference was met'
  )
  t.comment(`\nWriting, core REST against Quoin\n${table.join('\n')}`)
  t.comment(`${bodies.length} bodies, ${Object.keys(users).length} users, ${comparisons} comparisons, differences: ${different}`)
  for (const [{ name, reason }, n] of seen) t.comment(`deliberate: ${name}: ${n} (${reason})`)
})

function explains(entry: Deliberate, { method, name }: Body, { core, ours }: Outcome): boolean {
  return (
    entry.bodies.test(`${method} ${name}`) &&
    entry.core.includes(core.status) &&
    entry.ours.includes(ours.status) &&
    (ours.status < 400 || (entry.message ?? /./).test(ours.body.message))
  )
}
