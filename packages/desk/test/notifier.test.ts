import t from 'tap'
import { createNotifier, type NotificationClass } from '../page/notifier.ts'

/** A browser's notifications, and what was shown. */
function browser(permission: NotificationClass['permission'], isPhone = false) {
  const shown: Array<{ title: string; body: string; tag: string; onclick?: () => void }> = []
  class Notification {
    static permission = permission
    static async requestPermission() {
      Notification.permission = 'granted'
    }
    onclick: unknown
    constructor(title: string, options: { body: string; tag: string }) {
      if (isPhone) throw new TypeError('Illegal constructor')
      shown.push(Object.assign(this, { title, ...options }) as never)
    }
  }
  return { Notification: Notification as unknown as NotificationClass, shown }
}

t.test('a reader who has allowed it is told of what happens while the page is not seen', async (t) => {
  const { Notification, shown } = browser('default')
  let [isSeen, changes, focused] = [false, 0, 0]
  const notifier = createNotifier({
    Notification,
    isSeen: () => isSeen,
    focus: () => {
      focused++
    },
    onChange: () => {
      changes++
    }
  })
  t.equal(notifier.isOpen, true)
  notifier.tell('Monday', 'Ben asks for Title.', 'title')
  t.strictSame(shown, [], 'not before')
  await notifier.ask()
  t.strictSame([notifier.isOpen, changes], [false, 1])
  isSeen = true
  notifier.tell('Monday', 'Ben asks for Title.', 'title')
  t.strictSame(shown, [], 'nor of what is seen')
  isSeen = false
  notifier.tell('Monday', 'Ben asks for Title.', 'title')
  t.match(shown, [{ title: 'Monday', body: 'Ben asks for Title.', tag: 'title' }])
  shown[0]!.onclick!()
  t.equal(focused, 1, 'it leads back')
})

t.test('who has forbidden it, a browser without it, and a phone show nothing', async (t) => {
  for (const { Notification, shown } of [browser('denied'), browser('granted', true), { Notification: undefined, shown: [] }]) {
    const notifier = createNotifier({ Notification, isSeen: () => false, focus: () => {}, onChange: () => {} })
    t.equal(notifier.isOpen, false)
    notifier.tell('Monday', 'Ben asks for Title.', 'title')
    t.strictSame(shown, [])
  }
})
