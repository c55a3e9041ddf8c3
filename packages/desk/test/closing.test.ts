import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { closingWords, createClosing } from '../page/closing.ts'
import type { Edition, Model } from '../page/settings.ts'
import { QuoinError, type Finding, type ReadReadiness } from '../../client/src/client.ts'
import { contentModel } from '../../../lib/editions/model.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const findings = (...messages: string[]): Finding[] =>
  messages.map((message) => ({ code: 'LOCKED', message, entityType: 'node', entityId: '1' }))
const readinessOf = (blockers: Finding[], warnings: Finding[] = []): ReadReadiness => ({
  ready: blockers.length === 0,
  blockers,
  warnings,
  proposals: 0,
  etag: 'r'
})

function open(json: object = {}) {
  const service = {
    looks: [] as Array<ReadReadiness | Error | Promise<ReadReadiness>>,
    asked: 0,
    closes: [] as Array<Finding[] | null | Error>,
    sent: [] as object[]
  }
  const said: string[] = []
  let edition: Edition = { status: [{ value: false }] }
  const closing = createClosing({
    editions: {
      async readiness() {
        service.asked++
        const look = (await service.looks.shift()) ?? readinessOf([])
        if (look instanceof Error) throw look
        return look
      },
      async close() {
        const since = service.closes.length > 0 ? service.closes.shift()! : []
        if (since instanceof Error) throw since
        return { edition: { status: [{ value: true }] }, etag: '2', since }
      },
      async update(_, body) {
        service.sent.push(body)
        return { edition: { status: [{ value: false }] }, etag: '3' }
      }
    },
    wordsOf: ({ message }) => message,
    id: '5',
    model: contentModel(json) as Model,
    present: () => ({ edition, etag: '1' }),
    onSave(read, _, words) {
      edition = read
      said.push(words)
    },
    onChange: () => {},
    announce: (text) => {
      said.push(text)
    }
  })
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  return { closing, service, said, pass }
}

t.test('what speaks against it is seen before, and looked at again as things change', async (t) => {
  const { closing, service, said, pass } = open()
  closing.refresh()
  await pass(500)
  t.equal(service.asked, 0, 'nobody has asked')
  service.looks = [readinessOf(findings('Carla is editing it')), readinessOf([], findings('A draft is kept'))]
  closing.open()
  await turn()
  t.match([closing.isOpen, closing.readiness, said], [true, { ready: false }, ['1 thing stands in the way']])
  closing.refresh()
  closing.refresh()
  await pass(500)
  t.match([service.asked, closing.readiness, said.at(-1)], [2, { ready: true }, 'Nothing stands in the way, 1 warning'])
  service.looks = [new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')]
  await closing.look()
  t.match(closing.failure, { message: 'The CMS is away' })
  closing.refresh()
  closing.cancel()
  await pass(500)
  t.strictSame([closing.isOpen, service.asked], [false, 3])
})

t.test('what is looked at last is what is shown, whichever answer comes last', async (t) => {
  const { closing, service, said } = open()
  const [first, second] = [Promise.withResolvers<ReadReadiness>(), Promise.withResolvers<ReadReadiness>()]
  service.looks = [
    first.promise,
    second.promise,
    readinessOf(findings('Carla is editing it')),
    readinessOf(findings('Carla is editing it', 'Ben is editing it'))
  ]
  closing.open()
  const looks = [closing.look(), closing.look()]
  await looks[1]
  first.resolve(readinessOf([]))
  second.reject(new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away'))
  await looks[0]
  t.match([closing.readiness, closing.failure, said], [{ ready: false }, undefined, ['1 thing stands in the way']])
  await closing.look()
  t.strictSame(said, ['1 thing stands in the way', '2 things stand in the way'], 'one thing more is news')
})

t.test('it is done, taken back, and what came meanwhile is told', async (t) => {
  const { closing, service, said } = open()
  service.closes = [findings('Ben has taken the title'), null]
  closing.open()
  await turn()
  t.strictSame([closing.isDone, closing.canUndo], [false, true])
  const first = closing.close()
  await closing.close()
  await first
  t.strictSame(
    [closing.isDone, closing.isOpen, said.at(-1), service.closes.length],
    [true, false, 'Published. Meanwhile: Ben has taken the title', 1],
    'pressed twice it is done once'
  )
  await closing.undo()
  t.strictSame([closing.isDone, service.sent, said.at(-1)], [false, [{ status: [{ value: false }] }], 'Not published any more.'])
  await closing.close()
  t.equal(said.at(-1), 'Published.')
})

t.test('who was quicker is told of', async (t) => {
  const { closing, service, said } = open()
  service.closes = [
    new QuoinError(409, 'NOT_READY', 'It is not ready', { body: { blockers: findings('Carla is editing it'), warnings: [] } }),
    new QuoinError(403, 'CMS_FORBIDDEN', 'You may not')
  ]
  closing.open()
  await turn()
  await closing.close()
  t.match(
    [closing.isOpen, closing.readiness, said.at(-1)],
    [true, { ready: false, blockers: [{ message: 'Carla is editing it' }] }, 'It is not ready']
  )
  await closing.close()
  t.match([closing.failure, closing.isActing], [{ message: 'You may not' }, false])
})

t.test('it is called what it does, and is not offered where nothing is set', async (t) => {
  t.match(closingWords(contentModel({}) as Model), { act: 'Publish' })
  t.match(closingWords(contentModel({ closing: { field: 'field_state', value: 'closed' } }) as Model), { act: 'Close the edition' })
  t.equal(closingWords(contentModel({ keys: { published: null } }) as Model), undefined)
  const { closing } = open({ closing: { field: 'field_state', value: 'closed' } })
  t.strictSame([closing.isDone, closing.canUndo], [false, false])
})
