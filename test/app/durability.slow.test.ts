import { randomUUID } from 'node:crypto'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DEV, emptyDirectory, runNode } from './fixtures/processes.ts'

t.test('killed with -9 amid writes and started again, it has every acknowledged lock', async (t) => {
  const WRITERS = 16
  const ROUNDS = 3
  const PER_ROUND = 180
  const env = { PORT: '0', LOG_LEVEL: 'warn', LOCK_LEASE_SECONDS: '0', DATA_DIR: join(emptyDirectory(t), 'data') }
  const acknowledged = new Map<string, string[]>()
  let count = 0
  let cutOff = 0

  for (let round = 1; round <= ROUNDS; round++) {
    const { child, ended, says } = runNode(t, DEV, { env })
    const [, address] = await says(/^Quoin listens on (http:\S+) /m)
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        const id = `${round}-${writer}`
        const fields: string[] = []
        acknowledged.set(id, fields)
        try {
          for (let field = 1; ; field++) {
            const reply = await send(`${address}/api/cloud/data-state/node/${id}`, {
              fieldName: `field_${field}`,
              userData: { uid: writer },
              payload: 'x'.repeat(1000)
            })
            if (!reply.success) throw new Error(JSON.stringify(reply))
            fields.push(`field_${field}`)
            if (++count === PER_ROUND * round) child.kill('SIGKILL')
          }
        } catch (error) {
          if ((error as Error).name !== 'TypeError') throw error
          cutOff++
        }
      })
    )
    t.equal(await ended, 'SIGKILL')
  }
  t.ok(count >= PER_ROUND * ROUNDS, `${count} locks were acknowledged`)
  t.equal(cutOff, WRITERS * ROUNDS, 'every writer was at work when the process was killed')

  const { says } = runNode(t, DEV, { env })
  const [, address] = await says(/^Quoin listens on (http:\S+) /m)
  const lost: string[] = []
  for (const [id, fields] of acknowledged) {
    const { data } = (await (await fetch(`${address}/api/cloud/data-state/node/${id}`)).json()) as {
      data: { Items: Array<{ fieldName: string; payload: string }> }
    }
    const kept = new Map(data.Items.map(({ fieldName, payload }) => [fieldName, payload]))
    lost.push(...fields.filter((field) => kept.get(field)?.length !== 1000).map((field) => `${id} ${field}`))
  }
  t.strictSame(lost, [])
})

async function send(url: string, body: object): Promise<{ success: boolean }> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return (await reply.json()) as { success: boolean }
}

t.test('the sample CMS has the editions that its locks are about in its next life, unless it begins anew', async (t) => {
  const env = { PORT: '0', DATA_DIR: join(emptyDirectory(t), 'data') }
  const file = join(env.DATA_DIR, 'cms.ndjson')
  const notice = /cms\.ndjson is of another release of Quoin, or broken\. It is in \S+set-aside\/ now, with the locks/
  const live = async (...args: string[]) => {
    const { child, ended, output, says } = runNode(t, [...DEV, ...args], { env })
    const [, address] = await says(/^Quoin listens on (http:\S+) /m)
    const edition = { type: [{ target_id: 'daily' }], title: [{ value: 'Made here' }], field_key: [{ value: randomUUID() }] }
    const created = (await send(`${address}/api/collection`, edition)) as any
    const id: number = created.id[0].value
    await send(`${address}/api/cloud/data-state/publisher_container/${id}`, { fieldName: 'title', userData: { uid: '7', name: 'Anna' } })
    const read = async (path: string) => (await (await fetch(`${address}${path}`)).json()) as any
    const end = () => {
      child.kill('SIGKILL')
      return ended
    }
    return { id, read, end, output }
  }
  const titleOf = async ({ read }: Awaited<ReturnType<typeof live>>, id: number) => (await read(`/api/collection/${id}`)).title?.[0].value
  const locksOf = async ({ read }: Awaited<ReturnType<typeof live>>, id: number) =>
    (await read(`/api/cloud/data-state/publisher_container/${id}`)).data.Items.length

  const first = await live()
  await first.end()
  appendFileSync(file, '{"saved":{"entityType":"publisher_con')
  const second = await live()
  t.equal(second.id, first.id + 1)
  for (const { id } of [first, second]) t.strictSame([await titleOf(second, id), await locksOf(second, id)], ['Made here', 1])
  await second.end()

  const fresh = await live('--fresh')
  t.equal(fresh.id, first.id)
  t.strictSame([await titleOf(fresh, second.id), await locksOf(fresh, second.id)], [undefined, 0])
  await fresh.end()

  t.notMatch(fresh.output().stdout, notice)

  writeFileSync(file, 'mine\n')
  const anew = await live()
  t.match(anew.output().stdout, notice)
  t.equal(anew.id, first.id)
  t.equal(await locksOf(anew, anew.id), 1, 'no lock of the life before is on the new edition')
  await anew.end()

  const misled = runNode(t, [...DEV, '--frsh'], { env })
  t.equal(await misled.ended, 1)
  t.match(misled.output().stderr, /There is --fresh, which forgets the locks and editions of an earlier life\./)
})
