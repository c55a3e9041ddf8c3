import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/**
 * How many connections are held at once; one more is closed unread, before memory or file
 * descriptors run out.
 */
const CONNECTIONS = 10_000

/**
 * The share of the file descriptors that callers may have. The others are for Drupal, the store,
 * the bus and files.
 */
const SHARE = 0.5

/** Where Linux says how many files this process may have open. */
const LIMITS = '/proc/self/limits'

/** How often the log says that connections are closed unread, in milliseconds. */
const TOLD_MS = 60_000

/**
 * How long a connection waits for the next bytes of a body that is answered already, in
 * milliseconds.
 */
const REST_MS = 5000

interface ConnectionsOptions {
  limits?: string
  restMs?: number
  stalledMs?: number
  lookMs?: number
}

/**
 * How long a caller may take nothing of what waits for it, in milliseconds. Large answers and event
 * streams have rules of their own beside it.
 */
const STALLED_MS = 60_000

/** How often that is looked at, in milliseconds. */
const LOOK_MS = 5000

/**
 * What a connection may be used for, and when it ends.
 *
 * A request that is refused before its body has arrived, such as one that is too large, keeps its
 * connection until the body is over: a client that is still sending would get a reset instead of
 * the answer (RFC 9112 section 9.6). What arrives is dropped. The wait ends when nothing comes for
 * REST_MS, or by requestTimeout. After the body the connection is idle like any other.
 *
 * A request that asks for another protocol (RFC 9110 section 7.8) is answered as without, and as
 * the last of its connection: Node swallows what came right behind it, so that a proxy would take
 * the answer to its next request but one for that to its next.
 *
 * A connection of which the caller takes nothing for STALLED_MS, though something waits for it, is
 * closed. Node by itself would wait for connectionTimeout, and once more where a part was taken
 * before.
 *
 * A request that expects 100 (Continue) is invited to send its body once nothing but the body can
 * have it refused.
 *
 * An expectation that is not known is ignored, as RFC 9110 section 10.1.1 allows; Node would refuse
 * it without a body.
 */
async function connections(
  fastify: FastifyInstance,
  {
    limits = LIMITS,
    restMs = REST_MS,
    stalledMs = STALLED_MS,
    lookMs = LOOK_MS
  }: ConnectionsOptions
) {
  const files = openFiles(limits)
  const most = Math.min(CONNECTIONS, Math.floor(files * SHARE))
  if (most < CONNECTIONS) {
    fastify.log.warn(
      `this process may have ${files} files open, so it holds ${most} connections instead of ${CONNECTIONS}: raise ulimit -n to ${CONNECTIONS / SHARE}`
    )
  }
  fastify.server.maxConnections = most
  let toldAt = -Infinity
  fastify.server.on('drop', () => {
    if (performance.now() - toldAt < TOLD_MS) return
    toldAt = performance.now()
    fastify.log.warn(
      `${most} connections are open, as many as this process holds: others are closed unread`
    )
  })
  fastify.server.on('checkExpectation', (request, response) =>
    fastify.server.emit('request', request, response)
  )
  const uninvited = new WeakSet<IncomingMessage>()
  fastify.server.on('checkContinue', (request, response) => {
    uninvited.add(request)
    fastify.server.emit('request', request, response)
  })
  // The last of the hooks before a body is read: what they refuse is answered without it.
  fastify.addHook('onRoute', (route) => {
    if ([route.method].flat().includes('GET')) return
    const hooks = [route.preParsing].flat().filter((hook) => hook !== undefined)
    route.preParsing = [
      ...hooks,
      (request, reply, _payload, done) => {
        if (uninvited.has(request.raw) && isReadable(request)) reply.raw.writeContinue()
        done()
      }
    ]
  })
  fastify.server.prependListener('request', (request, response) => {
    const { headers } = request
    if (headers.upgrade) response.setHeader('connection', 'close')
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
      return
    }
    response.once('finish', () => {
      if (request.complete) return
      request.socket.setTimeout(restMs)
      request.once('end', () => request.socket.setTimeout(fastify.server.keepAliveTimeout))
    })
  })
  drain(fastify)
  closeStalled(fastify, stalledMs, lookMs)
}

/** Whether the body of a request is of a size and a media type that its route takes. */
function isReadable({ headers, server, routeOptions: { bodyLimit } }: FastifyRequest): boolean {
  const [type] = String(headers['content-type']).split(';', 1)
  const isTooLarge = Number(headers['content-length']) > bodyLimit
  return !isTooLarge && server.hasContentTypeParser(type!.trim().toLowerCase())
}

function openFiles(limits: string): number {
  const [, files] = existsSync(limits)
    ? (/^Max open files +(\d+)/m.exec(readFileSync(limits, 'utf8')) ?? [])
    : []
  return files === undefined ? Infinity : Number(files)
}

/**
 * Closes connections whose callers take nothing. The kernel of the caller may have megabytes of it:
 * they count as taken.
 */
function closeStalled(fastify: FastifyInstance, stalledMs: number, lookMs: number): void {
  const connections = new Map<Socket, { taken: number; since: number }>()
  const timer = setInterval(look, lookMs)
  fastify.addHook('onClose', async () => clearInterval(timer))
  fastify.server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, since: performance.now() })
    socket.once('close', () => connections.delete(socket))
  })

  function look(): void {
    const now = performance.now()
    for (const [socket, { taken, since }] of connections) {
      const isWaiting = socket.writableLength > 0
      const takenNow = socket.bytesWritten - socket.writableLength
      if (!isWaiting || takenNow !== taken) connections.set(socket, { taken: takenNow, since: now })
      else if (now - since >= stalledMs) socket.destroy()
    }
  }
}

/**
 * When the service closes, ends the connections without a running request at once and the others
 * after their answer. Node's own closeIdleConnections() leaves those that have not sent a request
 * yet, as browsers open them in advance, and those that become idle later; each would hold the end
 * of the process until its timeout.
 */
function drain(fastify: FastifyInstance): void {
  const connections = new Set<Socket>()
  const responsesOf = new WeakMap<Socket, Set<ServerResponse>>()
  let closing = false

  fastify.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    responsesOf.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })

  fastify.server.on('request', ({ socket }, response: ServerResponse) => {
    const responses = responsesOf.get(socket)!
    responses.add(response)
    response.once('close', () => {
      responses.delete(response)
      if (closing && responses.size === 0) socket.end()
    })
  })

  fastify.addHook('preClose', async () => {
    closing = true
    for (const socket of connections) if (responsesOf.get(socket)!.size === 0) socket.destroy()
  })

  // RFC 9112 section 9.6. Not while another request waits behind this one: its answer would be
  // lost.
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (closing && responsesOf.get(request.raw.socket)?.size === 1) {
      reply.header('connection', 'close')
    }
    done(null, payload)
  })
}

export default fp(connections, { name: 'connections', fastify: '5.x' })
