import type { Socket } from 'node:net'

/**
 * The beginning of an interim answer of the one kind that undici takes for an error, and how a
 * header ends.
 */
const CONTINUE = /^HTTP\/1\.[01] 100[ \r]/
const STARTS = ['HTTP/1.1 100 ', 'HTTP/1.0 100 ']
const LONGEST_START = STARTS[0]!.length
const END = '\r\n\r\n'

/**
 * What interim answers before one answer may have together, in bytes. What is beyond it undici
 * refuses.
 */
const MOST_BYTES = 16 * 1024

/**
 * Has a socket leave out the 100 (Continue) that a server or a proxy sends although the request did
 * not ask for it. A client has to read over it (RFC 9110 section 15.2). undici ends the connection
 * instead: a write would be of unknown outcome.
 *
 * undici sends one request at a time, in one turn, and reads with `read`: what comes first after a
 * write begins an answer.
 */
export function leaveOutContinue(socket: Socket): void {
  const { read, write } = socket
  let isStart = false
  let skipped = 0
  let held: Buffer | undefined

  socket.write = function (this: Socket, ...args: unknown[]) {
    isStart = true
    skipped = 0
    return Reflect.apply(write, this, args)
  } as Socket['write']

  socket.read = (size) => {
    const chunk: Buffer | null = read.call(socket, size)
    if (!isStart || chunk === null) return chunk
    const bytes = held ? Buffer.concat([held, chunk]) : chunk
    held = undefined
    const rest = afterContinues(bytes)
    if (mayContinue(rest)) {
      held = rest
      return null
    }
    isStart = false
    return rest
  }

  /** The bytes behind all whole interim answers. */
  function afterContinues(bytes: Buffer): Buffer {
    let rest = bytes
    for (;;) {
      const end = startsWithContinue(rest) ? rest.indexOf(END) : -1
      if (end === -1 || skipped + end > MOST_BYTES) return rest
      skipped += end + END.length
      rest = rest.subarray(end + END.length)
    }
  }

  /** Whether bytes may still become an interim answer that is left out. */
  function mayContinue(bytes: Buffer): boolean {
    if (skipped + bytes.length > MOST_BYTES) return false
    return bytes.length < LONGEST_START ? isPrefix(bytes) : startsWithContinue(bytes)
  }
}

function startsWithContinue(bytes: Buffer): boolean {
  return CONTINUE.test(bytes.toString('latin1', 0, LONGEST_START))
}

function isPrefix(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  return STARTS.some((start) => start.startsWith(text))
}
