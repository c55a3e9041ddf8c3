import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

// A store that answers at once and always the same: what is measured is then the cost of whoever asks. It reads no more
// of HTTP than the length of a body, since a server of Node's own would take a large part of the machine.

const holder = {
  env_entityType_entityId: { S: 'bench-node-1' },
  timestamp: { N: '1767225600' },
  userData: { M: { uid: { S: '7' }, name: { S: 'Anna' } } },
  payload: { S: 'Harbour bridge to open' },
  version: { S: 'Zm9vYmFyYmF6cXV4' }
}
const Items = Array.from({ length: 10 }, (_, index) => ({ ...holder, fieldName: { S: `field_${index}` } }))

/** DynamoDB sends one too. To make it anew for every answer would be a part of what is measured. */
let date = new Date().toUTCString()
setInterval(() => {
  date = new Date().toUTCString()
}, 1000).unref()

const done = reply(200, {})
const list = reply(200, { Items, Count: 10, ScannedCount: 10 })
const held = reply(400, {
  __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
  message: 'The conditional request failed',
  Item: { ...holder, fieldName: { S: 'held' } }
})

/** An answer without its date. */
function reply(status: number, body: object): [head: string, rest: string] {
  const text = JSON.stringify(body)
  return [
    `HTTP/1.1 ${status} X\r\nDate: `,
    `\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: BENCH\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  ]
}

const server = createServer({ noDelay: true }, (socket) => {
  let received = ''
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk
    const body = received.indexOf('\r\n\r\n') + 4
    if (body === 3) return
    const length = Number(/^content-length: *(\d+)/im.exec(received)![1])
    if (received.length < body + length) return
    const request = received
    received = request.slice(body + length)
    const answer = request.includes('.Query\r\n') ? list : request.includes('.PutItem\r\n') && request.includes('held"') ? held : done
    socket.write(answer.join(date))
  })
})

server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
