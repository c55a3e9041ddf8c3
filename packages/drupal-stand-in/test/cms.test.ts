import t from 'tap'
import { recordings } from '../../../test/fixtures/recordings.ts'
import { replay } from '../../../test/fixtures/replay.ts'
import { recordedSite } from '../../../test/fixtures/site.ts'
import { sample } from '../../../test/scope.ts'

const content = recordedSite()
const all = recordings()

const groups: [title: string, pattern: RegExp][] = [
  ['entry point, credentials and sessions', /^(jsonapi-(auth|entrypoint|user|error|maintenance|readonly|unknown|timezone)|session|auth)-/],
  ['single resources, includes, relationships and revisions', /^jsonapi-(individual|include|get|related|relationship|revision)-/],
  ['collections, pages and sorting', /^jsonapi-(collection|sort)-/],
  ['filters and who may use them', /^jsonapi-(filter|nofilterhook)-/],
  ['configuration resources', /^jsonapi-config-/],
  ['new resources', /^jsonapi-post-/],
  ['changed and deleted resources', /^jsonapi-(patch|delete)-/],
  ['core REST', /^rest-/],
  ['the page cache', /^cache-/]
]

t.test('every recording of the real Drupal is replayed, in exactly one group', async (t) => {
  const counts = all.map(({ name }) => groups.filter(([, pattern]) => pattern.test(name)).length)
  const replayed = counts.filter((count) => count === 1).length
  t.comment(`${replayed} of ${all.length} recordings are replayed`)
  t.equal(replayed, 673)
  t.equal(all.length, 673)
})

for (const [title, pattern] of groups) {
  t.test(`the stand-in answers as Drupal was recorded to: ${title}`, async (t) => {
    for (const one of sample(all.filter(({ name }) => pattern.test(name)))) {
      const { wanted, found } = await replay(one, content)
      t.strictSame(found, wanted, one.name)
    }
  })
}
