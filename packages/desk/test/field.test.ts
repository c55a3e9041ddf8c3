import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createField, type Displacement } from '../page/field.ts'
import type { Place } from '../page/draft-storage.ts'
import type { Kind } from '../page/fields.ts'
import { QuoinError, type AcquireOptions, type Held, type Holder, type LockView } from '../../client/src/client.ts'

const BEN: Holder = { fieldName: 'title', timestamp: 5, userData: { uid: 'ben', name: 'Ben' } }
const ANNA: Holder = { ...BEN, userData: { uid: 'anna', name: 'Anna' } }

const view = (holder: Holder, version: string) => ({ ...holder, entityType: 'node', entityId: '1', version }) as LockView
const locked = (lock: Holder) => new QuoinError(423, 'FIELD_LOCKED', 'locked', { body: { error: { lock } } })
const changedLock = (lock?: Holder) => new QuoinError(412, 'LOCK_CHANGED', 'changed', { body: { error: { lock } } })
const away = () => new QuoinError(503, 'STORE_UNAVAILABLE', 'away')

mock.timers.enable({ apis: ['setTimeout', 'Date'] })
t.teardown(() => mock.timers.reset())

interface Call {
  name: string
  payload?: string | undefined
  version?: string | undefined
  age?: number | undefined
  answer: (how: QuoinError | string | Error) => Promise<void>
  onLost?: AcquireOptions['onLost']
}

/**
 * A field of Anna's, and a lock service that answers when the test says so: an error, or the text that her lock had
 * already ('' for none).
 */
function open(t: Test, kind: Kind = 'line', first: Place = 'disk') {
  const calls: Call[] = []
  const lost: Displacement[] = []
  const aside: string[] = []
  let changes = 0
  let mirrored: string | undefined
  let place = first
  let onEnd = () => {}
  function call<Result>(
    name: string,
    result: (found: string) => Result,
    { payload, version, age, onLost }: AcquireOptions & { version?: string | undefined; age?: number } = {}
  ): Promise<Result> {
    return new Promise((resolve, reject) =>
      calls.push({
        name,
        payload,
        version,
        age,
        onLost,
        async answer(how) {
          if (how instanceof Error) reject(how)
          else resolve(result(how))
          await setImmediate()
        }
      })
    )
  }
  const held = (found: string) => {
    let isTyped = found !== ''
    const save = (payload: string, options: { age: number }) => {
      isTyped = true
      return call('save', () => {}, { payload, ...options })
    }
    return {
      version: 'v',
      found: found || undefined,
      get isTyped() {
        return isTyped
      },
      save,
      release: () => call('release', () => {})
    } as unknown as Held
  }
  const locks = {
    acquire: (_: unknown, options: AcquireOptions) => call('acquire', held, options),
    overwrite: (_: unknown, options: AcquireOptions) => call('overwrite', held, options),
    release: (_: unknown, options: { version?: string | undefined }) => call('release', () => {}, options)
  }
  const items = kind === 'order' ? [{ target_id: 1 }, { target_id: 2 }] : [{ value: 'Saved' }]
  const field = createField({
    shape: { name: 'title', label: 'Title', kind, template: {} },
    items,
    entity: { type: 'node', id: '1' },
    uid: 'anna',
    locks: locks as never,
    mirror: (told) => {
      onEnd = told
      return (kept) => {
        mirrored = kept?.payload
        return place
      }
    },
    onChange: () => {
      changes++
    },
    onDisplace: (one) => {
      lost.push(one)
    },
    putAside: (text) => {
      aside.push(text)
    }
  })
  /** The calls since it was last asked, which are to be these. */
  function called(...names: string[]): Call[] {
    const found = calls.splice(0)
    t.strictSame(
      found.map(({ name, payload }) => (payload === undefined ? name : `${name} ${payload}`)),
      names
    )
    return found
  }
  /** Lets time pass, in milliseconds. */
  async function pass(ms: number): Promise<void> {
    mock.timers.tick(ms)
    await setImmediate()
  }
  /** What is typed gets elsewhere. */
  function get(to: Place): void {
    place = to
    onEnd()
  }
  return { field, called, lost, aside, pass, get, changes: () => changes, mirrored: () => mirrored }
}

t.test('what is typed is in the browser until its lock has it, and says since when it is kept', async (t) => {
  const { field, called, mirrored, pass } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('')
  t.strictSame([mirrored(), field.keptAt, field.hint], [undefined, undefined, undefined])
  await pass(5000)
  field.type('A')
  t.strictSame([mirrored(), field.keptAt], ['A', Date.now() / 1000])
  await pass(400)
  const then = field.keptAt
  await called('save A')[0]!.answer('')
  t.strictSame([mirrored(), field.keptAt], [undefined, then])
  field.type('AB')
  t.equal(mirrored(), 'AB')
  field.onSave([{ value: 'AB' }], 'AB')
  t.strictSame([mirrored(), field.keptAt], [undefined, undefined])
})

t.test('where the browser has no room a text is kept once its lock has it', async (t) => {
  const { field, called, pass } = open(t, 'line', 'full')
  field.focus()
  await called('acquire')[0]!.answer('')
  field.type('A')
  t.equal(field.keptAt, undefined)
  await pass(400)
  await called('save A')[0]!.answer('')
  t.equal(field.keptAt, Date.now() / 1000)
})

t.test('a text is not said to be kept before it is on the disk', async (t) => {
  const { field, called, pass, get, changes } = open(t, 'line', 'coming')
  field.focus()
  await called('acquire')[0]!.answer('')
  field.type('A')
  t.strictSame([field.place, field.keptAt], ['coming', undefined])
  const before = changes()
  await pass(300)
  get('disk')
  t.strictSame([field.place, field.keptAt, changes()], ['disk', Date.now() / 1000, before + 1])
  await pass(400)
  await called('save A')[0]!.answer('')
  t.equal(field.place, 'lock')
})

t.test('a text that is neither in its lock nor on the disk is said to be in the window alone, and why', async (t) => {
  const { field, called, get } = open(t, 'line', 'coming')
  field.type('A')
  await called('acquire A')[0]!.answer(away())
  const alone = 'The lock service does not answer. Your text is in this window alone.'
  t.equal(field.trouble, alone)
  for (const [place, words] of [
    ['full', `${alone} This browser has no room for it.`],
    ['refused', `${alone} This browser does not let this page keep it.`],
    ['silent', `${alone} The storage of this browser does not answer.`],
    ['disk', 'The lock service does not answer. Your text is in this browser alone.']
  ] as const) {
    get(place)
    t.equal(field.trouble, words)
  }
  const other = open(t, 'line', 'full')
  other.field.type('A')
  await other.called('acquire A')[0]!.answer(new QuoinError(403, 'CMS_FORBIDDEN', 'It is not for you.'))
  t.match(other.field.trouble, /^It is not for you\. Your text is in this window alone\. This browser has no room/)
})

t.test('the focus takes the lock, and without a change the blur gives it back', async (t) => {
  const { field, called, changes } = open(t)
  field.focus()
  const [acquire] = called('acquire')
  await acquire!.answer('')
  t.ok(field.isHeld)
  field.focus()
  field.blur()
  called('release')[0]!.answer('')
  t.notOk(field.isHeld)
  t.ok(changes() > 0)

  field.focus()
  field.blur()
  await called('acquire')[0]!.answer('')
  await called('release')[0]!.answer(away())
  t.equal(field.trouble, undefined, 'left before it was there: given back all the same, if need be later')
  field.focus()
  field.blur()
  await called('acquire')[0]!.answer('')
  await called('release')[0]!.answer(new QuoinError(403, 'FORBIDDEN', 'It is not yours'))
  t.equal(field.trouble, 'It is not yours')
  field.focus()
  await called('acquire')[0]!.answer(away())
  t.equal(field.trouble, 'The lock service does not answer.', 'there is no text that could be in this browser alone')
})

t.test('what is typed is kept in the lock once the writer pauses, and the last of it when he leaves', async (t) => {
  const { field, called, pass } = open(t)
  field.type('S')
  const [acquire] = called('acquire S')
  field.type('Sa')
  await acquire!.answer('')
  const [first] = called('save Sa')
  await first!.answer('')
  field.type('Sav')
  await pass(399)
  field.type('Sav!')
  await pass(399)
  called()
  await pass(1)
  await called('save Sav!')[0]!.answer('')
  field.type('Sav!?')
  field.blur()
  await called('save Sav!?')[0]!.answer('')
  t.ok(field.isHeld, 'and the lock stays with the text')
  field.blur()
  called()
  field.type('Saved')
  field.blur()
  called('release')
  t.notOk(field.isDirty)
})

t.test('who types without a pause has the text kept all the same, and a page that closes does not wait for one', async (t) => {
  const { field, called, pass } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('')
  field.keep()
  called()
  for (const text of ['a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef', 'abcdefg']) {
    field.type(text)
    called()
    await pass(300)
  }
  await called('save abcdefg')[0]!.answer('')
  field.type('abcdefgh')
  await pass(399)
  called()
  field.keep()
  await called('save abcdefgh')[0]!.answer('')
  field.keep()
  await pass(2000)
  called()
})

t.test('the lock is told how long ago its text was typed, as after the sleep of a laptop', async (t) => {
  const { field, called, pass } = open(t)
  field.type('A')
  const acquire = called('acquire A')[0]!
  await pass(1000)
  await acquire.answer('')
  const first = called('save A')[0]!
  t.equal(first.age, 1000)
  await first.answer('')
  field.type('AB')
  await pass(3_600_000)
  const second = called('save AB')[0]!
  t.equal(second.age, 3_600_000)
  await second.answer(away())
  await pass(5000)
  t.equal(called('save AB')[0]!.age, 3_605_000)
})

t.test('a field of somebody else is refused; what was typed before that was known is not lost', async (t) => {
  const { field, called, lost } = open(t)
  field.focus()
  await called('acquire')[0]!.answer(locked(BEN))
  t.strictSame([field.holder, lost], [BEN, []], 'nothing was typed: nobody is displaced')
  field.focus()
  field.type('x')
  called()
  t.equal(field.text, 'Saved')

  field.board(undefined)
  field.type('Mine')
  const [acquire] = called('acquire Mine')
  await acquire!.answer(locked(BEN))
  t.match(lost, [{ text: 'Mine', by: BEN, wasHeld: false }])
  t.strictSame([field.text, field.isDirty, field.holder], ['Saved', false, BEN])
  await field.restore('Mine')
  called()
})

t.test('who is displaced is told at once, by the board or by the lock itself', async (t) => {
  const { field, called, lost, pass } = open(t)
  field.type('Mine')
  const [acquire] = called('acquire Mine')
  await acquire!.answer('')
  await called('save Mine')[0]!.answer('')
  field.type('Mine too')
  field.board(view(BEN, 'b1'))
  t.match(lost.splice(0), [{ text: 'Mine too', by: { userData: { uid: 'ben' } }, wasHeld: true }])
  t.strictSame([field.text, field.isHeld], ['Saved', false])
  await pass(400)
  called()

  field.board(undefined)
  field.focus()
  const [again] = called('acquire')
  await again!.answer('')
  again!.onLost!(changedLock(BEN))
  t.match(lost, [{ text: 'Saved', by: BEN }])
  t.equal(field.holder, BEN)
})

t.test('a takeover replaces the lock that was seen, and late news of that one are not believed', async (t) => {
  const { field, called, lost } = open(t)
  field.board(view(BEN, 'b1'))
  t.equal(field.holder!.userData.name, 'Ben')
  const taken = field.takeOver()
  await setImmediate()
  const [overwrite] = called('overwrite')
  t.equal(overwrite!.version, 'b1')
  await overwrite!.answer('')
  await taken
  t.ok(field.isHeld)
  field.board(view(BEN, 'b1'))
  t.strictSame([field.isHeld, field.holder, lost], [true, undefined, []])
  field.board(view(BEN, 'b2'))
  t.strictSame([field.isHeld, field.holder?.userData.uid, lost.length], [false, 'ben', 1], 'a newer one is')
})

t.test('what becomes of a lock that was lost says nothing of the one that has been taken since', async (t) => {
  const { field, called, lost } = open(t)
  field.type('Mine')
  await called('acquire Mine')[0]!.answer('')
  const [save] = called('save Mine')
  field.board(view(BEN, 'b1'))
  t.equal(lost.splice(0).length, 1)
  const taken = field.takeOver()
  await setImmediate()
  await called('overwrite')[0]!.answer('')
  await taken
  await save!.answer(locked(BEN))
  t.strictSame([field.isHeld, field.holder, lost], [true, undefined, []])
  field.type('Mine')
  t.notOk(field.isKept)
  await (field.keep(), called('save Mine')[0]!.answer(''))
  t.ok(field.isKept)

  field.type('Mine too')
  field.keep()
  const [late] = called('save Mine too')
  field.board(view(BEN, 'b2'))
  const takenAgain = field.takeOver()
  await setImmediate()
  await called('overwrite')[0]!.answer('')
  await takenAgain
  await late!.answer('')
  field.type('Mine too')
  t.notOk(field.isKept, 'what arrived in the lost one is not in this')
})

t.test('a takeover is refused by a third one, and has it easy where nobody is left', async (t) => {
  const { field, called } = open(t)
  const carla = { ...BEN, userData: { uid: 'carla' } }
  const over = async () => {
    field.board(view(BEN, 'b1'))
    const taken = field.takeOver()
    await setImmediate()
    return { taken, overwrite: called('overwrite')[0]! }
  }
  const first = await over()
  await first.overwrite.answer(changedLock(carla))
  await first.taken
  t.strictSame([field.holder, field.isHeld], [carla, false])

  const second = await over()
  await second.overwrite.answer(changedLock())
  const [acquire] = called('acquire')
  await acquire!.answer('')
  await second.taken
  t.ok(field.isHeld)
  acquire!.onLost!(locked(BEN))
  t.strictSame([field.isHeld, field.holder], [false, BEN], 'and is told when it is lost again')

  const { field: other, called: calledThere } = open(t)
  other.focus()
  const taken = other.takeOver()
  await calledThere('acquire')[0]!.answer(locked(BEN))
  const [overwrite] = calledThere('overwrite')
  t.ok(overwrite, 'a takeover waits for what was under way')
  const failing = t.rejects(taken, /a defect/)
  await overwrite!.answer(new TypeError('a defect'))
  await failing
})

t.test('a blur that comes late does not give back what is taken over', async (t) => {
  const { field, called } = open(t)
  field.board(view(BEN, 'b1'))
  const taken = field.takeOver()
  await setImmediate()
  field.blur()
  await called('overwrite')[0]!.answer('')
  await taken
  called()
  t.ok(field.isHeld)
})

t.test('a text is not lost to another window of its own writer', async (t) => {
  const { field, called, lost } = open(t)
  field.type('Mine')
  await called('acquire Mine')[0]!.answer(changedLock(ANNA))
  t.strictSame([field.text, field.holder, lost], ['Mine', undefined, []])
})

t.test('a takeover that fails leaves the field to its holder', async (t) => {
  const { field, called } = open(t)
  field.board(view(BEN, 'b1'))
  const taken = field.takeOver()
  await setImmediate()
  await called('overwrite')[0]!.answer(away())
  await taken
  field.type('Mine')
  t.match([field.holder, field.text, field.trouble], [{ userData: { uid: 'ben' } }, 'Saved', 'The lock service does not answer.'])
})

t.test('a takeover goes on while its holder types, as soon as the board shows the newer lock', async (t) => {
  const { field, called, pass } = open(t)
  field.board(view(BEN, 'b1'))
  const taken = field.takeOver()
  await setImmediate()
  const [first] = called('overwrite')
  field.board(view(BEN, 'b2'))
  await first!.answer(changedLock(BEN))
  const [second] = called('overwrite')
  t.equal(second!.version, 'b2', 'what the board has shown meanwhile')
  await second!.answer(changedLock(BEN))
  called()
  field.board(view(BEN, 'b3'))
  await setImmediate()
  const [third] = called('overwrite')
  t.equal(third!.version, 'b3', 'what it showed then')
  await third!.answer('')
  await taken
  t.strictSame([field.isHeld, field.holder], [true, undefined])
  field.board(view(BEN, 'b3'))
  t.ok(field.isHeld)

  const { field: other, called: calledThere } = open(t)
  other.board(view(BEN, 'b1'))
  const refused = other.takeOver()
  await setImmediate()
  await calledThere('overwrite')[0]!.answer(changedLock(BEN))
  await pass(5000)
  await refused
  calledThere()
  t.strictSame([other.isHeld, other.holder], [false, BEN], 'without news of it the editor decides again')
})

t.test('while the lock service is away the text stays here and is sent again', async (t) => {
  const { field, called, pass } = open(t)
  field.type('Mine')
  await called('acquire Mine')[0]!.answer(away())
  t.match(field.trouble, 'in this browser alone')
  await pass(5000)
  await called('acquire Mine')[0]!.answer('')
  t.equal(field.trouble, undefined)
  await called('save Mine')[0]!.answer(away())
  t.match(field.trouble, 'in this browser alone')
  await pass(5000)
  await called('save Mine')[0]!.answer('')
  t.equal(field.trouble, undefined)
  field.type('Too long')
  await pass(400)
  await called('save Too long')[0]!.answer(new QuoinError(413, 'TOO_LARGE', 'It is too large'))
  t.match(field.trouble, 'too long for its lock')
  await pass(60_000)
  called()
})

t.test('a text that is too long for its lock is in the browser alone, and its editor is told', async (t) => {
  const { field, called, pass, mirrored } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('')
  field.type('long')
  await pass(400)
  await called('save long')[0]!.answer(
    new QuoinError(413, 'TOO_LARGE', 'The lock would have 482671 bytes in the store; at most 409600 bytes are taken')
  )
  t.strictSame([field.trouble, mirrored()], ['This text is too long for its lock. Your text is in this browser alone.', 'long'])
  field.type('short')
  await pass(400)
  await called('save short')[0]!.answer('')
  t.strictSame([field.trouble, mirrored()], [undefined, undefined])
})

t.test('that the lock service does not answer is said no longer than that', async (t) => {
  const { field, called } = open(t)
  const troubled = async () => {
    field.focus()
    await called('acquire')[0]!.answer(away())
    t.match(field.trouble, 'does not answer')
  }
  await troubled()
  field.blur()
  t.equal(field.trouble, undefined, 'nothing is wanted of it')
  await troubled()
  field.board(undefined)
  t.equal(field.trouble, undefined, 'there are news')
  field.type('Mine')
  await called('acquire Mine')[0]!.answer(away())
  field.board(undefined)
  field.blur()
  t.match(field.trouble, 'in this browser alone')
  field.board(view(BEN, 'b1'))
  const taken = field.takeOver()
  await setImmediate()
  await called('overwrite')[0]!.answer(away())
  await taken
  const again = field.takeOver()
  await setImmediate()
  await called('overwrite')[0]!.answer(locked({ ...BEN, userData: { uid: 'carla' } }))
  await again
  t.equal(field.trouble, undefined, 'it has answered')
})

t.test('a lock that is not answered for seconds is trouble as one that is refused', async (t) => {
  const { field, called, pass } = open(t)
  field.type('Mine')
  const [acquire] = called('acquire Mine')
  await pass(2999)
  t.equal(field.trouble, undefined)
  await pass(1)
  t.equal(field.trouble, 'The lock service does not answer. Your text is in this browser alone.')
  await acquire!.answer('')
  const [save] = called('save Mine')
  t.equal(field.trouble, undefined)
  await pass(3000)
  t.match(field.trouble, 'in this browser alone')
  await save!.answer('')
  t.equal(field.trouble, undefined)
  await pass(3000)
  t.equal(field.trouble, undefined)
})

t.test("a text is kept once its writer, whose session had ended or was another's, has signed in again", async (t) => {
  for (const error of [
    new QuoinError(401, 'UNAUTHENTICATED', 'The token has expired'),
    new QuoinError(403, 'USER_CHANGED', 'Nothing was done')
  ]) {
    const { field, called, pass } = open(t)
    field.type('Mine')
    await called('acquire Mine')[0]!.answer(error)
    t.equal(field.trouble, error.message)
    await pass(5000)
    await called('acquire Mine')[0]!.answer('')
    called('save Mine')
    t.equal(field.trouble, undefined)
  }
})

t.test('a text that no lock could be had for is tried again, also after its field was left', async (t) => {
  for (const leave of ['blur', 'leave'] as const) {
    const { field, called, pass } = open(t)
    field.focus()
    field.type('Mine')
    await called('acquire')[0]!.answer(away())
    await field[leave]()
    await pass(5000)
    await called('acquire Mine')[0]!.answer('')
    await called('save Mine')[0]!.answer('')
    t.strictSame([field.isHeld, field.trouble], [true, undefined], leave)
  }
})

t.test('another window of the same user goes on, and a lock that was released by force is taken again', async (t) => {
  const { field, called, lost } = open(t)
  field.type('Mine')
  const [acquire] = called('acquire Mine')
  await acquire!.answer('')
  const [save] = called('save Mine')
  acquire!.onLost!(changedLock(ANNA))
  await save!.answer(changedLock(ANNA))
  t.strictSame([field.isHeld, field.trouble, field.text, lost], [false, 'You went on with this field in another window.', 'Mine', []])

  field.type('Mine 2')
  const [again] = called('acquire Mine 2')
  await again!.answer('')
  await called('save Mine 2')[0]!.answer('')
  field.board(view(ANNA, 'a1'))
  field.board(undefined)
  const [kept] = called('save Mine 2')
  again!.onLost!(changedLock())
  await kept!.answer(changedLock())
  t.equal(called('acquire Mine 2').length, 1, 'nobody has it, and the text needs it')
})

t.test('a page that was left takes its lock no more once that was discarded, or ended by a save, elsewhere', async (t) => {
  const { field, called } = open(t)
  field.type('Mine')
  const [acquire] = called('acquire Mine')
  await acquire!.answer('')
  await called('save Mine')[0]!.answer('')
  await field.leave()
  acquire!.onLost!(changedLock())
  called()
  t.notOk(field.isHeld)
})

t.test('what was typed before is offered, restored or discarded', async (t) => {
  const { field, called } = open(t)
  field.offered({ payload: 'Saved', version: 'v0' })
  t.equal(field.offer, undefined, 'what is saved is no offer')
  field.offered({ payload: 'Earlier', version: 'v0' })
  t.equal(field.offer, 'Earlier')
  const discarded = field.discardOffer()
  await setImmediate()
  const [release] = called('release')
  t.equal(release!.version, 'v0', 'that lock alone, be it that it has expired')
  await release!.answer('')
  await discarded
  t.equal(field.offer, undefined)

  field.focus()
  await called('acquire')[0]!.answer('From another window')
  t.equal(field.offer, 'From another window')
  await field.restore('From another window')
  t.strictSame([field.offer, field.text], [undefined, 'From another window'])
  called()
  field.type('x')
  field.offered({ payload: 'Earlier', version: 'v0' })
  await field.discardOffer()
  called('save x')

  const { field: other, called: calledThere } = open(t)
  const restored = other.restore('Earlier')
  await calledThere('acquire Earlier')[0]!.answer('Earlier')
  await restored
  t.strictSame([other.text, other.offer, other.isHeld], ['Earlier', undefined, true])
  calledThere()
  const [third] = [open(t)]
  third!.field.type('a')
  await third!.called('acquire a')[0]!.answer('Earlier')
  t.strictSame([third!.field.offer, third!.aside], [undefined, ['Earlier']], 'typed over in the lock, and kept all the same')
})

t.test('a text that is offered stays in its lock while its field is only looked into, until it is discarded', async (t) => {
  const { field, called } = open(t)
  field.offered({ payload: 'An hour of work', version: 'v0' })
  field.focus()
  await called('acquire')[0]!.answer('An hour of work')
  field.blur()
  await field.leave()
  called()
  t.strictSame([field.offer, field.isHeld], ['An hour of work', true])
  field.focus()
  const thrownAway = field.discardOffer()
  await setImmediate()
  await called('release')[0]!.answer('')
  await called('acquire')[0]!.answer('')
  await thrownAway
  field.blur()
  called('release')

  const { field: left, called: calledThere } = open(t)
  left.offered({ payload: 'An hour of work', version: 'v0' })
  left.focus()
  left.blur()
  const discarded = left.discardOffer()
  await calledThere('acquire')[0]!.answer('An hour of work')
  await calledThere('release')[0]!.answer('')
  await discarded
  t.strictSame([left.offer, left.isHeld], [undefined, false], 'also before its lock was there')
})

t.test('a text that was typed here and is offered is in no lock that is to be released', async (t) => {
  const { field, called } = open(t)
  field.type('Typed now')
  await called('acquire Typed now')[0]!.answer(away())
  field.restore('Kept draft')
  const discarded = field.discardOffer()
  await called('acquire Kept draft')[0]!.answer(away())
  await discarded
  called()
  t.strictSame([field.text, field.offer], ['Kept draft', undefined])
})

t.test('a text that another one is restored over is kept', async (t) => {
  const { field, called, aside } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('Typed before')
  field.restore('Kept draft')
  called('save Kept draft')
  t.strictSame([field.text, field.offer, aside.splice(0)], ['Kept draft', undefined, ['Typed before']], 'that which was offered')
  field.type('Typed now')
  field.restore('Kept draft')
  t.strictSame([field.text, aside.splice(0)], ['Kept draft', ['Typed now']], 'and that which was typed')
  field.restore('Kept draft')
  t.strictSame(aside, [], 'the same is no other')
})

t.test('what the field sent itself to a lock whose answer was lost is no text of before', async (t) => {
  const { field, called, aside, pass } = open(t)
  field.type('M')
  await called('acquire M')[0]!.answer(away())
  field.type('Mine')
  const [again] = called('acquire Mine')
  await again!.answer('M')
  t.strictSame([field.offer, aside], [undefined, []])
  await called('save Mine')[0]!.answer('')
  field.type('Mine too')
  await pass(400)
  await called('save Mine too')[0]!.answer(away())
  again!.onLost!(changedLock())
  await called('acquire Mine too')[0]!.answer('Mine')
  t.strictSame([field.offer, aside], [undefined, []])
})

t.test('what is no value yet, such as half a date, is no text, and the field is not saved until it is', async (t) => {
  const { field, called, pass, lost } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('')
  field.type('', false)
  t.strictSame(
    [field.text, field.isDirty, field.isUnfinished, field.isUnreadable, field.problems],
    ['Saved', true, true, true, ['This is not complete: finish it, or empty it.']]
  )
  await pass(400)
  await called('save Saved')[0]!.answer('')
  field.blur()
  called()
  t.ok(field.isHeld, 'it is being edited all the same')
  field.type('')
  t.strictSame([field.text, field.isDirty, field.isUnfinished, field.problems], ['', true, false, []], 'to empty it is possible')
  field.type('Saved')
  field.type('', false)
  field.restore('Earlier')
  called('save Earlier')
  t.strictSame([field.text, field.offer, field.isUnfinished], ['Earlier', undefined, false])
  field.type('', false)
  field.board(view(BEN, 'b1'))
  t.strictSame([field.isDirty, field.isUnfinished, lost.length], [false, false, 1])
})

t.test('a save ends the lock, unless there is a newer text', async (t) => {
  const { field, called } = open(t)
  field.type('Mine')
  await called('acquire Mine')[0]!.answer('')
  await called('save Mine')[0]!.answer('')
  t.strictSame(field.items([]), [{ value: 'Mine' }])
  field.refuse(['Too short.'])
  t.strictSame(field.problems, ['Too short.'])
  field.type('Mine, newer')
  t.strictSame(field.problems, [])
  field.onSave([{ value: 'Mine' }], 'Mine')
  t.strictSame([field.base, field.text, field.isDirty, field.isHeld], ['Mine', 'Mine, newer', true, true])
  field.onSave([{ value: 'MINE, NEWER' }], 'Mine, newer')
  await called('release')[0]!.answer('')
  t.strictSame([field.text, field.isDirty, field.isHeld], ['MINE, NEWER', false, false])
})

t.test('line ends are those of a text box, so that a text that is typed back is no change', async (t) => {
  const { field } = open(t)
  field.rebase([{ value: 'One\r\ntwo' }])
  t.strictSame([field.text, field.isDirty], ['One\ntwo', false])
  field.type('One\ntwo!')
  field.type('One\ntwo')
  t.notOk(field.isDirty)
  field.type('One\ntwo!')
  field.onSave([{ value: 'One\r\ntwo!' }], 'One\ntwo!')
  t.notOk(field.isDirty)
})

t.test('a field that was taken while its save was under way has no change left', async (t) => {
  const { field, called } = open(t)
  field.type('Mine')
  await called('acquire Mine')[0]!.answer('')
  called('save Mine')
  field.board(view(BEN, 'b1'))
  field.onSave([{ value: 'Mine' }], 'Mine')
  t.strictSame([field.text, field.base, field.isDirty], ['Mine', 'Mine', false])

  const { field: other } = open(t)
  other.type('Mine')
  other.type('Saved')
  other.onSave([{ value: 'Mine' }], 'Mine')
  t.strictSame([other.text, other.isDirty], ['Saved', true], 'but what was typed since is one, be it the text of before')
})

t.test('a lock that no text needs any more is given back; where the field has the focus it is taken anew, without the text', async (t) => {
  const { field, called, pass } = open(t)
  const typed = async () => {
    field.type('Mine')
    await called('acquire Mine')[0]!.answer('')
    await called('save Mine')[0]!.answer('')
  }
  const undone = async () => {
    await called('acquire')[0]!.answer('')
    field.type('Mine')
    await pass(400)
    await called('save Mine')[0]!.answer('')
    field.type('Saved')
    await pass(400)
  }
  const anew = async () => {
    await called('release')[0]!.answer('')
    await called('acquire')[0]!.answer('')
    t.ok(field.isHeld)
  }
  field.focus()
  await undone()
  await anew()
  field.type('Mine')
  await pass(400)
  await called('save Mine')[0]!.answer('')
  field.onSave([{ value: 'Mine' }], 'Mine')
  await anew()
  field.blur()
  await called('release')[0]!.answer('')

  field.rebase([{ value: 'Saved' }])
  called()
  await typed()
  field.rebase([{ value: 'Mine' }])
  await called('release')[0]!.answer('')
  t.notOk(field.isHeld, 'a colleague has saved the same')

  field.rebase([{ value: 'Saved' }])
  field.focus()
  await undone()
  await called('release')[0]!.answer(away())
  called()
  t.notOk(field.isHeld, 'what could not be released is not taken while the client tries again')
})

t.test('what others have saved comes in; where both have changed it, the editor decides', async (t) => {
  const { field, called } = open(t)
  field.rebase([{ value: 'Theirs' }])
  t.strictSame([field.text, field.isDirty], ['Theirs', false])
  field.type('Mine')
  await called('acquire Mine')[0]!.answer('')
  await called('save Mine')[0]!.answer('')
  field.rebase([{ value: 'Theirs' }])
  t.strictSame([field.text, field.theirs], ['Mine', undefined])
  field.rebase([{ value: 'Theirs 2' }])
  t.strictSame([field.text, field.theirs, field.isDirty], ['Mine', 'Theirs 2', true])
  field.decide('mine')
  t.strictSame([field.text, field.theirs], ['Mine', undefined])
  field.rebase([{ value: 'Theirs 3' }])
  field.decide('theirs')
  t.strictSame([field.text, field.theirs, field.isDirty], ['Theirs 3', undefined, false])
  called('release')
  field.rebase([{ value: 'Theirs 4' }])
  t.equal(field.theirs, undefined)
  field.type('Mine 4')
  field.rebase([{ value: 'Theirs 5' }])
  field.decide({ text: 'Mine 5' })
  t.strictSame([field.text, field.theirs, field.isDirty], ['Mine 5', undefined, true], 'or for some of each')
})

t.test('a page that goes elsewhere leaves typed texts in their locks, and releases the others', async (t) => {
  const { field, called } = open(t)
  field.focus()
  const leaving = field.leave()
  await called('acquire')[0]!.answer('')
  const [release] = called('release')
  t.ok(release)
  await release!.answer('')
  await leaving
  t.notOk(field.isHeld)

  field.type('Mine')
  await called('acquire Mine')[0]!.answer('')
  const [save] = called('save Mine')
  await save!.answer('')
  field.type('Mine 2')
  await field.leave()
  called('save Mine 2')
  t.ok(field.isHeld)

  const { field: fixed, called: calledThere } = open(t, 'fixed')
  fixed.focus()
  calledThere()
})

t.test('a field that is handed over is released, and what was typed in it put aside', async (t) => {
  const { field, called, aside } = open(t)
  field.focus()
  await called('acquire')[0]!.answer('')
  field.type('Typed')
  const handing = field.handOver()
  await setImmediate()
  await called('release')[0]!.answer('')
  await handing
  t.strictSame([field.isHeld, field.text, aside], [false, 'Saved', ['Typed']])
  called()

  await field.handOver()
  called()
  t.equal(aside.length, 1, 'where it was released already, nothing is left to do')

  field.focus()
  await called('acquire')[0]!.answer('')
  const untyped = field.handOver()
  await setImmediate()
  await called('release')[0]!.answer('')
  await untyped
  t.equal(aside.length, 1)
})
