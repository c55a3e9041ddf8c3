import { readFileSync } from 'node:fs'
import t from 'tap'
import { recording, recordings, type Recording } from '../../../test/fixtures/recordings.ts'
import { comparable, example } from '../../../test/fixtures/replay.ts'
import { recordedSite } from '../../../test/fixtures/site.ts'
import { differences, differing, single } from '../../../test/fixtures/versions.ts'

const known = new Set(recordedSite().entities.map(({ uuid }) => uuid))
const compared = ({ response }: Recording) => comparable(response.status, response.headers, response.body, example, known)

// The stand-in is held to the answers of 10.1.6 (cms.test.ts), and so to those of 11.4.5 but for these differences.
t.test('Drupal 11.4.5 was recorded to answer as 10.1.6 did, but for what is listed', async (t) => {
  const all = recordings(undefined, '11.4.5')
  const met = new Set<string>()
  let same = 0
  for (const one of all) {
    const found = differing(compared(recording(one.name)), compared(one))
    const own = single.find(({ names }) => names.test(one.name))
    const unexplained = found.filter(([path, before, after]) => {
      const difference = differences.find(({ explains }) => explains(path, before, after)) ?? own
      if (difference) met.add(difference.what)
      return !difference
    })
    t.strictSame(unexplained, [], one.name)
    if (found.length === 0) same++
  }
  t.strictSame(
    [...differences, ...single].map(({ what }) => what).filter((what) => !met.has(what)),
    [],
    'each difference was met'
  )
  t.comment(`${all.length} answers of 11.4.5, ${same} of them in every word those of 10.1.6`)
})

t.test('docs/drupal.md names each of these differences', async (t) => {
  const text = readFileSync(new URL('../../../docs/drupal.md', import.meta.url), 'utf8')
  for (const { what } of [...differences, ...single]) t.ok(text.includes(what), what)
})
