import type { Readable } from 'node:stream'

/**
 * How much may wait for callers that read slowly, in bytes: beyond it those that have waited
 * longest are ended.
 */
export const BACKLOG_BYTES = 64 * 1024 * 1024

export type Backlog = ReturnType<typeof createBacklog>

/**
 * What streams have to send to callers that do not take it, counted once where several share it.
 */
export function createBacklog(most = BACKLOG_BYTES) {
  const streamsByText = new Map<Buffer, Set<Readable>>()
  let bytes = 0

  function add(text: Buffer, stream: Readable): void {
    const streams = streamsByText.get(text) ?? new Set()
    if (streams.size === 0) bytes += text.length
    streamsByText.set(text, streams.add(stream))
    for (const [oldest, late] of streamsByText) {
      if (bytes <= most) return
      for (const each of late) {
        remove(oldest, each)
        each.destroy()
      }
    }
  }

  function remove(text: Buffer, stream: Readable): void {
    const streams = streamsByText.get(text)
    if (!streams?.delete(stream) || streams.size > 0) return
    streamsByText.delete(text)
    bytes -= text.length
  }

  return { add, remove, bytes: () => bytes }
}
