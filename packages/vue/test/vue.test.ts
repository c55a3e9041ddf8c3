import t, { type Test } from 'tap'
import { createSSRApp, effectScope, h, ref, shallowRef } from 'vue'
import { renderToString } from 'vue/server-renderer'
import { createClient, type Client, type Value } from '../../client/src/client.ts'
import { title } from '../../client/test/fixtures.ts'
import { createHeld, createStage, failure, lockOf, settle } from '../../client/test/live-fixtures.ts'
import { useBoard, useEdition, useLock, useOthers } from '../src/vue.ts'

const node = { type: 'node', id: '42' }

/** What a site's own types make of an edition. */
interface MyEdition {
  title: Array<Value<string>>
}

/** What is used in a scope of effects, as the setup of a component is one. */
function used<Result>(t: Test, use: () => Result): { result: Result; leave: () => void } {
  const scope = effectScope()
  const leave = () => scope.stop()
  t.teardown(leave)
  return { result: scope.run(use)!, leave }
}

t.test('useLock locks the field while its input has the focus', async (t) => {
  const { client, calls, last } = createStage()
  const stored: string[] = []
  const text = ref('stored')
  const { result: field } = used(t, () => useLock(client, { ...title }, { text, store: async (text) => stored.push(text) }))
  t.match(field.input.value, { value: 'stored', readonly: true })
  t.equal(calls.length, 0)
  field.input.value.onFocus()
  const { held, done } = createHeld()
  await last('acquire').resolve(held)
  t.strictSame([field.isHeld.value, field.input.value.readonly], [true, false])
  field.input.value.onInput({ target: { value: 'typed' } } as unknown as Event)
  text.value = 'stored anew'
  t.strictSame([field.text.value, field.input.value.value], ['typed', 'typed'], 'not what was stored meanwhile')
  field.input.value.onBlur()
  await settle()
  t.strictSame([calls.length, stored, done], [1, ['typed'], ['typed', 'release']])
  t.strictSame([field.text.value, field.isHeld.value], ['stored anew', false])
})

t.test('useLock says who holds the field, and takes it over', async (t) => {
  const { client, last } = createStage()
  const { result: field } = used(t, () => useLock(client, title, { text: 'stored', store: async () => {} }))
  field.focus()
  await last('acquire').reject(failure('FIELD_LOCKED', 423, { error: { lock: lockOf('8', 'Ben') } }))
  t.equal(field.error.value?.code, 'FIELD_LOCKED')
  t.equal(field.holder.value?.userData.name, 'Ben')
  field.takeOver()
  await last('overwrite').resolve(createHeld().held)
  t.strictSame([field.text.value, field.isHeld.value, field.holder.value], ['stored', true, undefined])
  field.change('typed')
  last('overwrite').sent[1].onLost(failure('LOCK_CHANGED', 412, { error: { lock: lockOf('9', 'Cleo') } }))
  t.strictSame([field.text.value, field.holder.value?.userData.name], ['stored', 'Cleo'])
})

t.test('useLock releases the field when its component goes, or shows another', async (t) => {
  const { client, last } = createStage()
  const field = ref({ ...title })
  const { result, leave } = used(t, () => useLock(client, field, { text: '', store: async () => {} }))
  for (const next of ['lead', undefined]) {
    result.focus()
    const { held, done } = createHeld()
    await last('acquire').resolve(held)
    field.value = { ...field.value }
    t.strictSame(done, [], 'the same field, named anew')
    if (next) field.value.fieldName = next
    else leave()
    t.strictSame(done, ['release'])
  }
})

t.test('useBoard follows an edition or an entity with one stream', async (t) => {
  const { client, stream, streams } = createStage()
  const what = shallowRef<number | typeof node>(12)
  const { result: board, leave } = used(t, () => useBoard(client, what))
  t.strictSame([board.locks.value, board.isLive.value, streams()], [[], false, ['/api/collection/12/locks/events']])
  stream().locks([lockOf('8', 'Ben')])
  t.match([board.locks.value, board.isLive.value], [[{ userData: { name: 'Ben' } }], true])
  what.value = node
  t.strictSame([board.locks.value, streams()], [[], ['/api/cloud/data-state/node/42/events']])
  leave()
  t.strictSame(streams(), [])
})

t.test('useEdition has the types of the site, and saves on the state that it shows', async (t) => {
  const { client, calls, last, streams } = createStage()
  const id = ref<string | number>(12)
  const { result, leave } = used(t, () => useEdition(client as unknown as Client<MyEdition>, id))
  const { edition, etag, age, error, save, reload } = result
  t.strictSame([edition.value, etag.value, age.value, error.value], Array(4).fill(undefined))
  await last('read').resolve({ edition: { title: [{ value: 'Monday' }] }, etag: '"1"', age: 7 })
  const text: string | undefined = edition.value?.title[0]?.value
  t.strictSame([text, age.value], ['Monday', 7])
  save({ title: [{ value: 'Tuesday' }] })
  await last('update').resolve({ edition: { title: [{ value: 'Tuesday' }] }, etag: '"2"' })
  t.match(last('update').sent, [12, {}, { ifMatch: '"1"' }])
  t.strictSame([etag.value, edition.value?.title[0]?.value], ['"2"', 'Tuesday'])
  const { length } = calls
  reload()
  t.equal(calls.length, length + 1)
  await last('read').reject(failure('NOT_FOUND', 404))
  t.equal(error.value?.code, 'NOT_FOUND')
  id.value = 13
  t.strictSame([edition.value, error.value, last('read').sent[0]], [undefined, undefined, 13])
  leave()
  t.strictSame([streams(), last('read').isAborted], [[], true])
})

t.test('useOthers says that the user looks on, and who else does', async (t) => {
  const { client, calls, last, stream, streams } = createStage()
  const board = ref<number>()
  const { result: others, leave } = used(t, () => useOthers(client, node, { stream: () => board.value ?? node }))
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
  stream().present!({ entityType: 'node', entityId: '42', userData: { uid: '8', name: 'Ben' }, until: 100 })
  t.match(others.value, [{ userData: { name: 'Ben' } }])
  board.value = 12
  t.strictSame([others.value, streams()], [[], ['/api/collection/12/locks/events']])
  await settle()
  leave()
  await last('attend').resolve()
  t.strictSame([calls.at(-1)?.name, streams()], ['leave', []])
  const alone = used(t, () => useOthers(client, node))
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
  alone.leave()
})

t.test('a server renders what is known without a stream', async (t) => {
  const client = createClient({ url: 'http://quoin.invalid' })
  const app = createSSRApp({
    setup() {
      const { isLive } = useBoard(client, 12)
      const { edition } = useEdition(client, 12)
      const { text } = useLock(client, title, { text: 'stored', store: async () => {} })
      const others = useOthers(client, node)
      return () => h('p', `${isLive.value} ${edition.value} ${text.value} ${others.value.length}`)
    }
  })
  t.equal(await renderToString(app), '<p>false undefined stored 0</p>')
})
