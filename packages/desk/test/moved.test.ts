import { mock } from 'node:test'
import t from 'tap'
import { createMoved } from '../page/moved.ts'

t.test('what others do to a running order is marked for two seconds, and said once a second', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const said: string[] = []
  let news = 0
  const moved = createMoved({
    people: () => [{ uid: '8', name: 'Ben' }],
    titleOf: (item) => `No. ${item['target_id']}`,
    onNews() {
      news++
    },
    announce(text) {
      said.push(text)
    }
  })
  moved.note({ uid: '8' }, 'move', { target_id: 4 })
  t.equal(moved.by({ target_id: 4 }), 'Ben', 'by the name that is known')
  mock.timers.tick(1000)
  moved.note({ uid: '9', name: 'Cleo' }, 'remove', { target_id: 7 })
  t.equal(moved.by({ target_id: 7 }), undefined, 'what is gone has no mark')
  mock.timers.tick(1000)
  t.strictSame([moved.by({ target_id: 4 }), news], [undefined, 1])
  moved.note({ uid: '9' }, 'insert', { target_id: 9 })
  moved.note({ uid: '8' }, 'move', { target_id: 4 })
  moved.note({}, 'move', { target_id: 2 })
  t.equal(moved.by({ target_id: 2 }), undefined, 'nobody is named where nobody is known')
  mock.timers.tick(1000)
  t.strictSame(said, ['Ben has moved No. 4', 'Cleo has removed No. 7', 'User 9, Ben: 2 changes of the running order'])
  moved.note({ uid: '8' }, 'move', { target_id: 4 })
  moved.end()
  mock.timers.tick(5000)
  t.equal(said.length, 3, 'nothing is said once the page is left')
  t.end()
})
