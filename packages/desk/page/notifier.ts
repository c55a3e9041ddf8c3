/** The part of a browser's notifications that is used (WHATWG Notifications API). */
export interface NotificationClass {
  readonly permission: 'default' | 'denied' | 'granted'
  requestPermission: () => Promise<unknown>
  new (title: string, options: { body: string; tag: string }): { onclick: unknown }
}

export interface NotifierDeps {
  /** The browser's, if it has one. */
  Notification: NotificationClass | undefined
  /** Whether the reader has the page before them. */
  isSeen: () => boolean
  /** Brings the page before the reader. */
  focus: () => void
  onChange: () => void
}

export type Notifier = ReturnType<typeof createNotifier>

/** Tells a reader outside of the page what happens to their texts, once they have allowed it. */
export function createNotifier({ Notification, isSeen, focus, onChange }: NotifierDeps) {
  return {
    /** Whether the reader has neither allowed nor forbidden it. */
    get isOpen() {
      return Notification?.permission === 'default'
    },

    async ask(): Promise<void> {
      await Notification!.requestPermission()
      onChange()
    },

    /** @param about the same for what replaces an earlier notice */
    tell(title: string, body: string, about: string): void {
      if (!Notification || Notification.permission !== 'granted' || isSeen()) return
      try {
        new Notification(title, { body, tag: about }).onclick = focus
      } catch {
        // Phones show notices of service workers alone.
      }
    }
  }
}
