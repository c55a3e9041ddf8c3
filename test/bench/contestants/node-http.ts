import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'

// Field locks as one would write them in an afternoon: node:http, the stock document client, one conditional write.

const TableName = 'DataState'
const client = DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'local', endpoint: process.env['DYNAMODB_ENDPOINT']! }))

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
  const match = /^\/api\/cloud\/data-state\/(\w+)\/([\w.:-]+)$/.exec(pathname)
  if (!match) return send(response, 404, { success: false, message: 'Error: not found' })
  const key = `bench-${match[1]}-${match[2]}`
  try {
    if (request.method === 'POST') await acquire(key, await bodyOf(request))
    else if (request.method === 'DELETE') await release(key, searchParams.get('fieldName')!, searchParams.get('uid')!)
    else return send(response, 200, { success: true, data: await list(key) })
    send(response, 200, { success: true })
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) return send(response, 500, { success: false, message: 'Error: Server error' })
    const lock = error.Item ? unmarshall(error.Item) : (await list(key)).Items?.[0]
    send(response, 423, {
      success: false,
      message: 'Error: Field is locked by another user',
      error: { name: error.name, lock: { ...lock, payload: undefined } }
    })
  }
}

async function bodyOf(request: IncomingMessage): Promise<any> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  if (typeof body.fieldName !== 'string' || typeof body.userData?.uid !== 'string') throw new Error('wrong body')
  return body
}

async function acquire(
  key: string,
  { fieldName, userData, payload }: { fieldName: string; userData: { uid: string }; payload?: string }
): Promise<void> {
  await client.send(
    new PutCommand({
      TableName,
      Item: { env_entityType_entityId: key, fieldName, userData, payload, timestamp: Math.floor(Date.now() / 1000) },
      ConditionExpression: 'attribute_not_exists(fieldName) OR userData.uid = :uid',
      ExpressionAttributeValues: { ':uid': userData.uid },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
    })
  )
}

async function list(key: string) {
  const { Items, Count, ScannedCount } = await client.send(
    new QueryCommand({
      TableName,
      ConsistentRead: true,
      KeyConditionExpression: 'env_entityType_entityId = :key',
      ExpressionAttributeValues: { ':key': key }
    })
  )
  return { Items, Count, ScannedCount }
}

async function release(key: string, fieldName: string, uid: string): Promise<void> {
  await client.send(
    new DeleteCommand({
      TableName,
      Key: { env_entityType_entityId: key, fieldName },
      ConditionExpression: 'userData.uid = :uid',
      ExpressionAttributeValues: { ':uid': uid }
    })
  )
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const server = createServer(handle)
server.listen(0, '127.0.0.1', () => process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }))
