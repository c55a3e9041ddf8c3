import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { StoreRequest } from './asked.ts'
import { createItems } from './items.ts'

// A store that keeps items (items.ts) and takes ANSWER_MS for each answer. GET /asked tells, and forgets, the operations
// since it was asked last. It reads no more of HTTP than the length of a body, as dynamodb.ts.

/** How many operations are remembered. */
const ASKED_MAX = 1000

const answerMs = Number(process.env['ANSWER_MS'] ?? 0)
const answer = createItems()
let asked: StoreRequest[] = []

/** DynamoDB sends one too. To make it anew for every answer would be a part of what is measured. */
let date = new Date().toUTCString()
setInterval(() => {
  date = new Date().toUTCString()
}, 1000).unref()

function send(socket: Socket, status: number, body: object): void {
  const text = JSON.stringify(body)
  socket.write(
    `HTTP/1.1 ${status} X\r\nDate: ${date}\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: BENCH\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  )
}

function serve(socket: Socket, head: string, body: string): void {
  if (head.startsWith('GET ')) {
    send(socket, 200, asked)
    asked = []
    return
  }
  const operation = /\.(\w+)\r\n/.exec(head.slice(head.search(/^x-amz-target:/im)))![1]!
  const request = { operation, from: performance.now(), to: Infinity }
  if (asked.length < ASKED_MAX) asked.push(request)
  const finish = () => {
    const { status, body: content } = answer(operation, JSON.parse(Buffer.from(body, 'latin1').toString()))
    request.to = performance.now()
    send(socket, status, content)
  }
  if (answerMs === 0) finish()
  else setTimeout(finish, answerMs)
}

const server = createServer({ noDelay: true }, (socket) => {
  let received = ''
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk
    const body = received.indexOf('\r\n\r\n') + 4
    if (body === 3) return
    const length = Number(/^content-length: *(\d+)/im.exec(received.slice(0, body))?.[1] ?? 0)
    if (received.length < body + length) return
    const [head, content] = [received.slice(0, body), received.slice(body, body + length)]
    received = received.slice(body + length)
    serve(socket, head, content)
  })
})

server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
