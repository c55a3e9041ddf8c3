import t, { type Test } from 'tap'
import { uuidOf } from './bodies.ts'
import { differences, inFlight } from './compare.ts'
import { core, quoin, signIn } from './quoin.ts'
import { gazette, leaflet, prefixes, startStrange, startStrangeQuoin, type StrangeType } from './strange.ts'

type Session = Record<string, string>

const value = (...values: unknown[]) => values.map((value) => ({ value }))
const ids = (...ids: unknown[]) => ids.map((id) => ({ target_id: id }))
const report = (number: number) => uuidOf(`report:${number}`)

/** Forms of fields of gazettes: those that other models than the variants' may get wrong. */
const ofGazettes: Record<string, unknown> = {
  'a headline': { headline: value('Neu') },
  'a bare headline': { headline: ['Neu'] },
  'a headline in a list in a list': { headline: [['Neu']] },
  'a headline as an object': { headline: { value: 'Neu' } },
  'no headline': { headline: [] },
  'a taken signature': { signature: value('sheet/0001') },
  'not live': { live: value(false) },
  'a flavour': { flavour: value('weekend') },
  'an unknown flavour': { flavour: value('hourly') },
  'a time': { opens: value('2026-05-01T10:00:00+02:00') },
  'a time with milliseconds': { opens: value('2026-05-01T10:00:00.000Z') },
  'unix time': { opens: value(1767225600) },
  'a birth': { born: value('2026-05-01T10:00:00+00:00') },
  'a day': { day: value('2026-05-01') },
  'no day': { day: [] },
  stories: { stories: ids(3, 2, 1) },
  'stories by uuid': { stories: [{ target_uuid: report(3) }, { target_uuid: report(1) }] },
  'a hidden story': { stories: ids(8) },
  'an unknown story': { stories: ids(9999) },
  'a chief': { chief: ids(2) },
  'a chief whom nobody shows': { chief: ids(9999) },
  enclosures: { enclosures: ids(5, 60, 1) },
  'an unknown enclosure': { enclosures: ids(9999) },
  'a successor': { successor: ids(7) },
  'a teaser': { teaser: [{ value: '<p>x</p>', format: 'plain_html' }] },
  'a teaser without format': { teaser: value('<p>x</p>') },
  'no teaser': { teaser: [] },
  'a link': { web: [{ uri: 'https://example.com/new', title: 'N', options: [] }] },
  'a bare link': { web: ['https://example.com/new'] },
  'a link with only a value': { web: value('https://example.com/new') },
  'a link with an unknown property': { web: [{ uri: 'https://example.com/new', nosuch: 1 }] },
  words: { words: value('a', 'b') },
  'bare words': { words: ['a', 'b'] },
  'lists of words': { words: [['a'], ['b', 'c']] },
  'a cost': { cost: value('2.50') },
  'a cost as a number': { cost: value(2.5) },
  'too many sheets': { sheets: value(501) },
  'a word for a number': { sheets: value('x') },
  'a list for a number': { sheets: [[5]] },
  hot: { hot: value(true) },
  'a map': { facts: [{ weather: 'sun', list: [1, { a: 2 }] }] },
  'an empty map': { facts: [{}] },
  'a list in a map': { facts: [['a', 'b']] },
  'a list of maps': { facts: [{ a: 1 }, { b: 2 }] },
  'no map': { facts: [] },
  'a memo': { memo: value('x') },
  'a photo': { field_photo: [{ target_id: 1, alt: 'A', title: '' }] },
  'a beat': { field_beat: ids(1) },
  'an unknown field': { nosuch: value(1) },
  'its language': { tongue: value('de') },
  'another language': { tongue: value('en') },
  'a state': { state: value(4242) },
  'a state note': { state_note: value('why') },
  'two violations': { sheets: value(-1), flavour: value('hourly') }
}

const ofLeaflets: Record<string, unknown> = {
  'a caption': { caption: value('Neu') },
  'a caption in a list in a list': { caption: [['Neu']] },
  'no caption': { caption: [] },
  'a mark': { mark: value('m') },
  'a type': { type: value('flat') },
  'a bare type': { type: ['flat'] },
  'an unknown type': { type: value('daily') },
  'no type': { type: [] },
  pieces: { pieces: ids(3, 2) },
  'a hidden piece': { pieces: ids(16) },
  'an unknown piece': { pieces: ids(9999) },
  'a time': { due: value('2026-05-01T10:00:00+02:00') },
  'a number': { number: value(5) },
  'a number below 0': { number: value(-1) },
  'an id': { slip: value(4242) },
  'a status': { status: value(true) },
  'a time of change': { changed: value('2026-05-01T10:00:00+00:00') },
  'a language': { langcode: value('de') }
}

/** What differs on purpose, or cannot be otherwise; docs/core-rest.md has it. */
const known: Record<string, RegExp> = {
  'a time with milliseconds': /./,
  'an unknown field': /./,
  'a status': /./,
  'a time of change': /./,
  'a language': /./,
  'a state': /./,
  'a list in a map': /^status 20[01] undefined, not 422 /
}

async function compareWrites(t: Test, type: StrangeType, forms: Record<string, unknown>, given: (key: string) => object) {
  const [a, b] = await Promise.all([startStrange(), startStrange()])
  t.teardown(() => Promise.all([a.stop(), b.stop()]))
  const service = await startStrangeQuoin(b, type)
  t.teardown(() => service.close())
  const [one, other] = [await signIn(a, 'editor'), await signIn(b, 'editor')]
  const since = Date.now() - 2000
  const lines: string[] = []
  let comparisons = 0
  let id = 11
  for (const [name, fields] of Object.entries(forms)) {
    for (const method of ['POST', 'PATCH'] as const) {
      const key = `${method} ${name}`
      const isNew = method === 'POST'
      const body = { ...given(key), ...(fields as object) }
      const change = type === gazette ? { sort: ids('sheet'), ...(fields as object) } : fields
      const [theirs, ours] = await Promise.all([
        isNew ? core(a, one, 'POST', `/entity/${type.entityType}`, body) : core(a, one, 'PATCH', type.path(id), change),
        isNew ? quoin(service, other, 'POST', '/api/collection', body) : quoin(service, other, 'POST', `/api/collection/${id}`, fields)
      ])
      comparisons++
      const found: string[] = []
      if (theirs.status >= 300 || ours.status >= 300) found.push(...differences(theirs, ours))
      else {
        const [left, right] = isNew ? [theirs.body[type.id][0].value, ours.body[type.id][0].value] : [id, id]
        const [stored, storedByQuoin] = await Promise.all([core(a, one, 'GET', type.path(left)), core(b, other, 'GET', type.path(right))])
        const of = (edition: Record<string, any[]>, origin: string) =>
          JSON.parse(
            JSON.stringify(
              Object.fromEntries(
                Object.entries(edition)
                  .filter(([field]) => !(isNew && ['uuid', type.id, 'state'].includes(field)))
                  .map(([field, items]) => [
                    field,
                    Date.parse(String(items[0]?.value)) >= since && /T.*[+Z]/.test(String(items[0]?.value)) ? 'now' : items
                  ])
              )
            ).replaceAll(origin, '')
          )
        found.push(
          ...differences({ status: 200, body: of(stored.body, a.url) }, { status: 200, body: of(storedByQuoin.body, b.url) }).map(
            (line) => `saved ${line}`
          )
        )
        const withoutEmpty = (edition: Record<string, any[]>) =>
          Object.fromEntries(
            Object.entries(edition).map(([field, items]) => [field, items.filter((item) => item.value !== null && item.uri !== null)])
          )
        found.push(
          ...differences(
            { status: 200, body: of(withoutEmpty(storedByQuoin.body), b.url) },
            { status: 200, body: of(withoutEmpty(ours.body), b.url) }
          ).map((line) => `answered ${line}`)
        )
      }
      const isKnown = found.length > 0 && known[name]?.test(found.join('\n'))
      if (found.length > 0) t.comment(`${isKnown ? 'known' : 'DIFFERENT'} ${key}: ${found.join(' | ')}`)
      if (!isKnown) lines.push(...found.map((line) => `${key}: ${line}`))
      if (theirs.status < 300 !== ours.status < 300 && isNew) continue
      if (!isNew) id++
    }
  }
  t.strictSame(lines, [])
  t.comment(`${type.entityType}: ${comparisons} writes, ${lines.length} differences`)
}

t.test('what is written of gazettes through Quoin is what core REST writes', { timeout: 900_000 }, (t) =>
  compareWrites(t, gazette, ofGazettes, (key) => ({ sort: ids('sheet'), headline: value('Neu'), signature: value(key) }))
)

t.test('what is written of leaflets, which have no bundles, is what core REST writes', { timeout: 900_000 }, (t) =>
  compareWrites(t, leaflet, ofLeaflets, () => ({ caption: value('Neu') }))
)

t.test('every gazette is saved in each of its languages, as core REST saves it', { timeout: 900_000 }, async (t) => {
  const [a, b] = await Promise.all([startStrange(), startStrange()])
  t.teardown(() => Promise.all([a.stop(), b.stop()]))
  const [one, other]: [Session, Session] = [await signIn(a, 'admin'), await signIn(b, 'admin')]
  const lines: string[] = []
  const saves: Record<string, number> = {}
  for (const [language, prefix] of Object.entries(prefixes)) {
    const service = await startStrangeQuoin(b, gazette, prefix)
    t.teardown(() => service.close())
    await inFlight(
      3,
      Array.from({ length: a.content.gazettes }, (_, index) => index + 1),
      async (id) => {
        const path = prefix + gazette.path(id)
        const before = await core(a, one, 'GET', path)
        const shown = before.body.tongue[0].value
        // Under a prefix only what has this language; without one also what has no German.
        if (shown !== language && prefix !== '') return
        const headline = value(`${before.body.headline[0].value}, ${language}`)
        const [theirs, ours] = await Promise.all([
          core(a, one, 'PATCH', path, { sort: before.body.sort, headline }),
          quoin(service, other, 'POST', `/api/collection/${before.body.uuid[0].value}`, { headline })
        ])
        saves[shown] = (saves[shown] ?? 0) + 1
        const [stored, storedByQuoin] = await Promise.all([core(a, one, 'GET', path), core(b, other, 'GET', path)])
        const of = ({ touched: _, ...edition }: Record<string, unknown>, origin: string) => ({
          status: 200,
          body: JSON.parse(JSON.stringify(edition).replaceAll(origin, ''))
        })
        if (theirs.status !== ours.status) {
          lines.push(`${language} ${id} (${shown}): ${theirs.status}, not ${ours.status} ${JSON.stringify(ours.body.message)}`)
        }
        lines.push(...differences(of(stored.body, a.url), of(storedByQuoin.body, b.url)).map((line) => `${language} ${id}: ${line}`))
      }
    )
  }
  t.strictSame(lines, [])
  t.comment(
    `saves in every language: ${Object.entries(saves)
      .map(([language, n]) => `${language} ${n}`)
      .join(', ')}; ${lines.length} differences`
  )
})
