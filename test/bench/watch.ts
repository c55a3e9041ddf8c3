import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './drive.ts'
import type { Figures } from './suite.ts'
import { serveTasks } from './tasks.ts'

/** Opens event streams, or tells how late the events came since it was asked last. */
export type Watch = { open: number; url: string; path: string; stalled: boolean } | 'lateness'

/** How many streams are opened at once. */
const AT_ONCE = 50

/** When the write behind an event was sent, in milliseconds since 1970: `userData` says so (write.ts). */
const SENT_AT = /"sentAt":([\d.]+)/g

let latenesses: number[] = []

/** Resolves when the first event is there. One that is stalled reads no further. */
function opened({ url, path, stalled }: { url: string; path: string; stalled: boolean }): Promise<void> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`)
    })
    socket.setEncoding('latin1').on('error', reject)
    socket.once('data', (head: unknown) => {
      if (!String(head).startsWith('HTTP/1.1 200')) return reject(new Error(String(head)))
      if (stalled) socket.pause()
      // What was there before the stream was opened is not late.
      else {
        setTimeout(() => {
          socket.on('data', (chunk: unknown) => note(String(chunk)))
        }, 500)
      }
      resolve()
    })
  })
}

function note(chunk: string): void {
  const now = performance.timeOrigin + performance.now()
  for (const [, sentAt] of chunk.matchAll(SENT_AT)) latenesses.push(now - Number(sentAt))
}

serveTasks(async (task: Watch): Promise<Figures> => {
  if (task === 'lateness') {
    // The last events may still be on their way.
    await sleep(300)
    const sorted = latenesses.sort((a, b) => a - b)
    latenesses = []
    return sorted.length === 0 ? {} : { eventsP99Ms: quantile(sorted, 0.99) }
  }
  for (let left = task.open; left > 0; left -= AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, left) }, () => opened(task)))
  }
  await sleep(1000)
  return {}
})
