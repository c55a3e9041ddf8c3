import t from 'tap'
import { recordings } from '../fixtures/recordings.ts'
import { replay } from '../fixtures/replay.ts'
import { recordedSite } from '../fixtures/site.ts'

const content = recordedSite()

/** Recordings that the stand-in makes no claim on, by reason. Whoever adds one here has to give the reason. */
const unclaimed: [reason: string, pattern: RegExp][] = [
  ['a free date format of PHP fills in the running second', /^rest-post-created-with-custom-format$/]
]

const reasonOf = (name: string) => unclaimed.find(([, pattern]) => pattern.test(name))?.[0]

const claimed = recordings(one => reasonOf(one.name) === undefined)
const set = (pattern: RegExp) => claimed.filter(one => pattern.test(one.name))

t.test('every recording is either replayed or left out for a reason that is written down', async t => {
  const counts = new Map<string, number>()
  for (const { name } of recordings()) {
    const reason = reasonOf(name)
    if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  t.comment(`${claimed.length} of ${recordings().length} recordings are replayed`)
  for (const [reason, count] of counts) t.comment(`${count} are not: ${reason}`)
  t.equal(claimed.length, 672)
})

const groups: [title: string, pattern: RegExp][] = [
  ['entry point, credentials and sessions', /^(jsonapi-(auth|entrypoint|user|error|maintenance|readonly|unknown|timezone)|session|auth)-/],
  ['single resources, includes, relationships and revisions', /^jsonapi-(individual|include|get|related|relationship|revision)-/],
  ['collections, pages and sorting', /^jsonapi-(collection|sort)-/],
  ['filters and who may use them', /^jsonapi-(filter|nofilterhook)-/],
  ['configuration resources', /^jsonapi-config-/],
  ['the page cache', /^cache-/],
  ['core REST', /^rest-/],
  ['new resources', /^jsonapi-post-/],
  ['changed and deleted resources', /^jsonapi-(patch|delete)-/]
]

for (const [title, pattern] of groups) {
  t.test(`the stand-in answers as Drupal was recorded to: ${title}`, async t => {
    for (const one of set(pattern)) {
      const { wanted, found } = await replay(one, content)
      t.strictSame(found, wanted, one.name)
    }
  })
}

t.test('the groups leave out no claimed recording', async t => {
  const left = claimed.filter(one => !groups.some(([, pattern]) => pattern.test(one.name)))
  t.strictSame(left.map(one => one.name), [])
})
