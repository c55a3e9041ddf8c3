import { mock } from 'node:test'
import t from 'tap'
import { createWindows, type WindowsDeps } from '../page/windows.ts'

t.test('windows of one user know which editions the others show', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] })
  t.teardown(() => mock.timers.reset())
  type Channel = { postMessage: (word: unknown) => void; onmessage: (message: { data: unknown }) => void }
  const channels: Channel[] = []
  let changes = 0
  let isCut = false
  const open = (uid: string) => {
    const channel: Channel = {
      postMessage: (data) => {
        if (!isCut) for (const other of channels) if (other !== channel) other.onmessage({ data: structuredClone(data) })
      },
      onmessage: () => {}
    }
    channels.push(channel)
    return createWindows({
      channel: channel as WindowsDeps['channel'],
      uid,
      onChange: () => {
        changes++
      }
    })
  }
  const [first, bens] = [open('anna'), open('ben')]
  first.show('5')
  bens.show('5')
  t.strictSame([first.isElsewhere('5'), changes], [false, 0], 'of another user nothing is told')
  const second = open('anna')
  second.show('5')
  t.strictSame(
    [first, second].map(({ isElsewhere }) => isElsewhere('5')),
    [true, true],
    'who comes later is told, too'
  )
  t.equal(first.isElsewhere('6'), false)
  second.show('5')
  second.show('6')
  t.strictSame([first.isElsewhere('5'), first.isElsewhere('6'), second.isElsewhere('5')], [false, true, true])
  mock.timers.tick(200_000)
  t.equal(first.isElsewhere('6'), true, 'as long as it says so')
  second.show(undefined)
  t.equal(first.isElsewhere('6'), false, 'closed')
  mock.timers.tick(20_000)
  second.show('5')
  isCut = true
  mock.timers.tick(160_000)
  t.equal(first.isElsewhere('5'), false, 'crashed')
})
