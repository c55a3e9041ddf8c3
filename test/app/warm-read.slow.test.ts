import { join } from 'node:path'
import t from 'tap'
import { ROOT, runNode } from './fixtures/processes.ts'

/** Raise these only for something that every read needs. `node test/app/fixtures/warm-read.ts` names the functions. */
const MOST = { files: 33, functions: 100, calls: 145 }

t.test('a read that was answered before passes through few functions', async (t) => {
  const { says, ended } = runNode(t, [join(ROOT, 'test/app/fixtures/warm-read.ts')])
  const [line] = await says(/^\{.*\}$/m)
  t.equal(await ended, 0)
  const counts: typeof MOST = JSON.parse(line)
  t.comment(line)
  for (const [name, most] of Object.entries(MOST)) t.ok(counts[name as keyof typeof MOST] <= most, `${name}: ${counts[name as keyof typeof MOST]}, at most ${most}`)
})
