import { createHash, createHmac } from 'node:crypto'
import { Pool } from 'undici'
import { drive, type Drive } from '../drive.ts'
import { serveTasks } from '../tasks.ts'

// The floor: DynamoDB asked without any service and without an SDK, by requests that are signed by hand.

/** One operation of DynamoDB; `{worker}` in its input stands for the number of the worker. */
export interface FloorRequest {
  operation: string
  input: object
  status: number
}

export interface FloorTask extends Drive {
  endpoint: string
  requests: FloorRequest[]
}

const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const keys = new Map<string, Buffer>()

/** Source: AWS Identity and Access Management, "Create a signed AWS API request". */
function signed(host: string, operation: string, body: string): Record<string, string> {
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = time.slice(0, 8)
  const key = keys.get(day) ?? ['local', 'dynamodb', 'aws4_request'].reduce(hmac, hmac('AWS4local', day))
  keys.set(day, key)
  const target = `DynamoDB_20120810.${operation}`
  const canonical = `POST\n/\n\ncontent-type:application/x-amz-json-1.0\nhost:${host}\nx-amz-date:${time}\nx-amz-target:${target}\n\ncontent-type;host;x-amz-date;x-amz-target\n${sha256(body)}`
  const scope = `${day}/local/dynamodb/aws4_request`
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`).toString('hex')
  return {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-date': time,
    'x-amz-target': target,
    authorization: `AWS4-HMAC-SHA256 Credential=local/${scope}, SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=${signature}`
  }
}

serveTasks(async ({ endpoint, requests, ...how }: FloorTask) => {
  const pool = new Pool(endpoint, { connections: how.concurrency, pipelining: 1 })
  const { host } = new URL(endpoint)
  const figures = await drive(how, async (worker, turn) => {
    const { operation, input, status } = requests[turn % requests.length]!
    const text = JSON.stringify(input).replace('{worker}', String(worker))
    const { statusCode, body } = await pool.request({ path: '/', method: 'POST', headers: signed(host, operation, text), body: text })
    const answer = await body.json()
    if (statusCode !== status) throw new Error(`${operation} was answered ${statusCode}, not ${status}: ${JSON.stringify(answer)}`)
  })
  await pool.close()
  return figures
})
