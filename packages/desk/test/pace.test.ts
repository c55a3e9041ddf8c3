import { mock } from 'node:test'
import t from 'tap'
import { createPace } from '../page/pace.ts'

t.test('what others do is drawn at once, and then five times a second at most', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let now = 1000
  t.intercept(performance, 'now', { value: () => now })
  const pass = (ms: number) => {
    now += ms
    mock.timers.tick(ms)
  }
  let drawings = 0
  const pace = createPace(() => {
    drawings++
    pace.note()
  })
  pace.plan()
  pass(1)
  t.equal(drawings, 1, 'at once')
  for (let n = 0; n < 100; n++) {
    pace.plan()
    pass(10)
  }
  t.ok(drawings > 3 && drawings < 8, `${drawings} times for a hundred in a second`)
  pass(1000)
  const all = drawings
  pace.plan()
  pace.note()
  pass(1000)
  t.equal(drawings, all, 'what was drawn along with something else is not drawn again')
  t.end()
})
