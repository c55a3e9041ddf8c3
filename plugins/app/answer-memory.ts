import { Readable } from 'node:stream'
import type { FastifyInstance, onSendHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { LARGE_ANSWER, type AnswerMemory } from '../../lib/http/answer-memory.ts'
import { watchPace, type LeastPace, type Pace } from '../../lib/http/pace.ts'

/**
 * How fast a caller has to take a large answer. Between two looks of a caller at 30 kB/s up to 40
 * seconds may pass: the systems of both sides keep megabytes, and tell of room for more only when a
 * good part of them is free.
 */
const ANSWER_PACE: LeastPace = {
  graceMs: 60_000,
  bytesPerSecond: 8 * 1024
}

/**
 * A large answer goes out in pieces of so many bytes: only between two of them shows what the
 * caller has taken. They are as large as the pace allows, since a busy process sends one in each
 * turn of its event loop.
 */
const PIECE_BYTES = 480 * 1024

interface AnswerMemoryOptions {
  memory: AnswerMemory
  pace?: LeastPace
}

/**
 * Counts large answers until their callers have them, and ends the connections of callers who take
 * them too slowly.
 */
async function answerMemory(
  fastify: FastifyInstance,
  { memory, pace: leastPace = ANSWER_PACE }: AnswerMemoryOptions
) {
  const send: onSendHookHandler = (_request, reply, payload, done) => {
    if (!isLarge(payload)) return done(null, payload)
    const { raw } = reply
    const end = () => {
      raw.destroy()
    }
    const size = Buffer.byteLength(payload)
    const pace = watchPace(leastPace, end)
    const over = memory.send(size, end)
    raw.once('close', () => {
      pace.end()
      over()
    })
    // A stream costs more than all else of an answer that is one piece.
    if (size <= PIECE_BYTES) return done(null, payload)
    reply.header('content-length', size)
    done(null, inPieces(Buffer.from(payload), pace))
  }

  // The last of all, since others look at the answer as a text.
  fastify.addHook('onRoute', (route) => {
    route.onSend = [route.onSend ?? [], send].flat()
  })
}

function isLarge(payload: unknown): payload is string {
  return typeof payload === 'string' && payload.length >= LARGE_ANSWER
}

function inPieces(bytes: Buffer, pace: Pace): Readable {
  let at = 0
  return new Readable({
    // Asks for no piece ahead of those that the connection has taken.
    highWaterMark: 0,
    read() {
      const piece = bytes.subarray(at, at + PIECE_BYTES)
      at += piece.length
      pace.moved(piece.length)
      this.push(piece.length > 0 ? piece : null)
    }
  })
}

export default fp(answerMemory, { name: 'answer-memory', fastify: '5.x' })
