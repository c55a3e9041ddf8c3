import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import t from 'tap'
import { createClient, type Client, type Value } from '../../client/src/client.ts'
import { title } from '../../client/test/fixtures.ts'
import { createHeld, createStage, failure, lockOf, settle } from '../../client/test/live-fixtures.ts'
import { useBoard, useEdition, useLock, useOthers } from '../src/react.ts'
import { rendered } from './render.ts'

const node = { type: 'node', id: '42' }

/** What a site's own types make of an edition. */
interface MyEdition {
  title: Array<Value<string>>
}

t.test('useLock locks the field while its input has the focus', async (t) => {
  const { client, calls, last } = createStage()
  const stored: string[] = []
  const field = await rendered(
    t,
    ({ text }: { text: string }) =>
      // As written in a component, the field and the options are new at each render.
      useLock(client, { ...title }, { text, store: async (text) => stored.push(text) }),
    { text: 'stored' }
  )
  t.match(field.result, { text: 'stored', isHeld: false, holder: undefined, error: undefined, input: { value: 'stored', readOnly: true } })
  t.equal(calls.length, 0, 'strict mode locks nothing')
  await field.act(() => field.result.input.onFocus())
  const { held, done } = createHeld()
  await field.act(() => last('acquire').resolve(held))
  t.match(field.result, { isHeld: true, input: { readOnly: false } })
  await field.act(() => field.result.input.onChange({ target: { value: 'typed' } }))
  t.match(field.result, { text: 'typed', input: { value: 'typed' } })
  await field.render({ text: 'stored anew' })
  t.equal(field.result.text, 'typed', 'not what was stored meanwhile')
  await field.act(() => field.result.input.onBlur())
  t.strictSame([calls.length, stored, done], [1, ['typed'], ['typed', 'release']])
  t.match(field.result, { text: 'stored anew', isHeld: false })
})

t.test('useLock says who holds the field, and takes it over', async (t) => {
  const { client, last } = createStage()
  const field = await rendered(t, () => useLock(client, title, { text: 'stored', store: async () => {} }), {})
  await field.act(() => field.result.focus())
  await field.act(() => last('acquire').reject(failure('FIELD_LOCKED', 423, { error: { lock: lockOf('8', 'Ben') } })))
  t.match(field.result, { holder: { userData: { name: 'Ben' } }, error: { code: 'FIELD_LOCKED' } })
  await field.act(() => field.result.takeOver())
  const { held } = createHeld()
  await field.act(() => last('overwrite').resolve(held))
  t.match(field.result, { text: 'stored', isHeld: true, holder: undefined })
  await field.act(() => field.result.change('typed'))
  await field.act(() => last('overwrite').sent[1].onLost(failure('LOCK_CHANGED', 412, { error: { lock: lockOf('9', 'Cleo') } })))
  t.match(field.result, { text: 'stored', isHeld: false, holder: { userData: { name: 'Cleo' } } })
})

t.test('useLock releases the field when its component goes, or shows another', async (t) => {
  const { client, last } = createStage()
  const field = await rendered(
    t,
    ({ fieldName }: { fieldName: string }) => useLock(client, { ...node, fieldName }, { text: '', store: async () => {} }),
    { fieldName: 'title' }
  )
  for (const next of ['lead', undefined]) {
    await field.act(() => field.result.focus())
    const { held, done } = createHeld()
    await field.act(() => last('acquire').resolve(held))
    if (next) await field.render({ fieldName: next })
    else await field.unmount()
    t.strictSame(done, ['release'])
  }
})

t.test('useBoard follows an edition or an entity with one stream', async (t) => {
  const { client, stream, streams } = createStage()
  const board = await rendered(t, ({ id }: { id: number | typeof node }) => useBoard(client, typeof id === 'object' ? { ...id } : id), {
    id: 12 as number | typeof node
  })
  t.strictSame([board.result, streams()], [{ locks: [], isLive: false }, ['/api/collection/12/locks/events']])
  await board.act(() => stream().locks([lockOf('8', 'Ben')]))
  t.match(board.result, { locks: [{ userData: { name: 'Ben' } }], isLive: true })
  t.equal(streams().length, 1)
  await board.render({ id: node })
  t.strictSame([board.result.locks, streams()], [[], ['/api/cloud/data-state/node/42/events']])
  await board.render({ id: { ...node } })
  t.equal(streams().length, 1)
  await board.unmount()
  t.strictSame(streams(), [])
})

t.test('useEdition has the types of the site, and saves on the state that it shows', async (t) => {
  const { client, calls, last, streams } = createStage()
  const typed = client as unknown as Client<MyEdition>
  const edition = await rendered(t, () => useEdition(typed, 12), {})
  t.match(edition.result, { edition: undefined, error: undefined })
  await edition.act(() => last('read').resolve({ edition: { title: [{ value: 'Monday' }] }, etag: '"1"' }))
  const text: string | undefined = edition.result.edition?.title[0]?.value
  t.equal(text, 'Monday')
  await edition.act(() => {
    edition.result.save({ title: [{ value: 'Tuesday' }] })
    return last('update').resolve({ edition: { title: [{ value: 'Tuesday' }] }, etag: '"2"' })
  })
  t.match(last('update').sent[2], { ifMatch: '"1"' })
  t.match(edition.result, { edition: { title: [{ value: 'Tuesday' }] }, etag: '"2"' })
  const { length } = calls
  await edition.act(() => edition.result.reload())
  t.equal(calls.length, length + 1)
  await edition.act(() => last('read').reject(failure('NOT_FOUND', 404)))
  t.equal(edition.result.error?.code, 'NOT_FOUND')
  await edition.unmount()
  t.strictSame(streams(), [])
})

t.test('useOthers says that the user looks on, and who else does', async (t) => {
  const { client, calls, last, stream, streams } = createStage()
  const others = await rendered(t, ({ board }: { board: number | undefined }) => useOthers(client, { ...node }, { stream: board }), {
    board: undefined as number | undefined
  })
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
  await others.act(() => stream().present!({ entityType: 'node', entityId: '42', userData: { uid: '8', name: 'Ben' }, until: 100 }))
  t.match(others.result, [{ userData: { name: 'Ben' } }])
  await others.render({ board: 12 })
  t.strictSame([others.result, streams()], [[], ['/api/collection/12/locks/events']])
  await last('attend').resolve()
  await last('attend').resolve()
  await others.unmount()
  await last('attend').resolve()
  await settle()
  t.strictSame([calls.at(-1)?.name, streams()], ['leave', []])
  const alone = await rendered(t, () => useOthers(client, node), {})
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
  await alone.unmount()
})

t.test('a server renders what is known without a stream', (t) => {
  const client = createClient({ url: 'http://quoin.invalid' })
  function Page() {
    const { isLive } = useBoard(client, 12)
    const { edition } = useEdition(client, 12)
    const { text } = useLock(client, title, { text: 'stored', store: async () => {} })
    return createElement('p', null, `${isLive} ${edition} ${text} ${useOthers(client, node).length}`)
  }
  t.equal(renderToString(createElement(Page)), '<p>false undefined stored 0</p>')
  t.end()
})
