import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const TableName = 'DataState'

/** The table of a lock client, which has one key, and the key of a lock there. */
export const LOCK_TABLE = 'Locks'
export const lockId = (key: string, fieldName: string) => `${key} ${fieldName}`

export interface Lock {
  fieldName: string
  userData: { uid: string }
  payload?: string
}

/** What a service of field locks does with its store. */
export interface LockStore {
  /** @returns the lock in the way, as far as it is known; undefined where the lock was taken */
  acquire: (key: string, lock: Lock) => Promise<{ inTheWay: object | undefined } | undefined>
  release: (key: string, fieldName: string, uid: string) => Promise<void>
  list?: (key: string) => Promise<object>
}

/** Serves field locks at Quoin's paths by node:http, as one would write that in an afternoon. */
export function serveLocks(store: LockStore): void {
  const server = createServer((request, response) => handle(store, request, response))
  server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
}

async function handle({ acquire, release, list }: LockStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
  const match = /^\/api\/cloud\/data-state\/(\w+)\/([\w.:-]+)$/.exec(pathname)
  if (!match) return send(response, 404, { success: false, message: 'Error: not found' })
  const key = `bench-${match[1]}-${match[2]}`
  try {
    if (request.method === 'GET') return send(response, 200, { success: true, data: await list!(key) })
    const refusal = request.method === 'POST' ? await acquire(key, await bodyOf(request)) : undefined
    if (request.method === 'DELETE') await release(key, searchParams.get('fieldName')!, searchParams.get('uid')!)
    if (!refusal) return send(response, 200, { success: true })
    send(response, 423, {
      success: false,
      message: 'Error: Field is locked by another user',
      error: { name: 'ConditionalCheckFailedException', lock: { ...refusal.inTheWay, payload: undefined } }
    })
  } catch (error) {
    console.error(error)
    send(response, 500, { success: false, message: 'Error: Server error' })
  }
}

async function bodyOf(request: IncomingMessage): Promise<Lock> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  if (typeof body.fieldName !== 'string' || typeof body.userData?.uid !== 'string') throw new Error('wrong body')
  return body
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
