import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import {
  convertToAttr,
  unmarshall,
  type NativeAttributeValue,
  type unmarshallOptions
} from '@aws-sdk/util-dynamodb'
import type { RequestSigner } from '@smithy/types'
import { UnmetCondition } from './failures.ts'
import type { SdkAnswer, Transport } from './transport.ts'

/** A command of the document client. */
export interface Command {
  constructor: unknown
  input: Record<string, unknown>
}

export type Send = (command: Command, options?: object) => Promise<unknown>

export interface ShortcutDeps {
  /** The document client's own way. */
  send: Send
  transport: Transport
  signer: RequestSigner
  unmarshallOptions: unmarshallOptions
}

/** The operations that are worth a shortcut. */
const OPERATIONS = new Map<unknown, string>([
  [PutCommand, 'PutItem'],
  [DeleteCommand, 'DeleteItem'],
  [GetCommand, 'GetItem'],
  [QueryCommand, 'Query']
])

/** The members of their inputs and outputs that hold attributes. */
const MARSHALLED = ['Item', 'Key', 'ExpressionAttributeValues', 'ExclusiveStartKey']
const UNMARSHALLED = ['Item', 'Attributes', 'LastEvaluatedKey']

/** Bytes, for which JSON has no values: the SDK handles them. */
const BINARY = /"BS?":/

const UNMET = /#ConditionalCheckFailedException$/

/** DynamoDB's name of the operation that a command asks for. */
export function operationOf({ constructor }: Command): string {
  return (
    OPERATIONS.get(constructor) ??
    (constructor as { name: string }).name
      .replace(/Command$/, '')
      .replace(/^TransactWrite$/, 'TransactWriteItems')
  )
}

/**
 * Sends the most frequent operations without the SDK's middleware, which takes several times the
 * CPU of the request itself. Only a success and an unmet condition are handled here. Any other
 * outcome is handed to the SDK as that of its own first attempt, so retries, errors and their names
 * stay the SDK's.
 */
export function createShortcut({ send, transport, signer, unmarshallOptions }: ShortcutDeps): Send {
  return async (command, options) => {
    const operation = OPERATIONS.get(command.constructor)
    const endpoint = transport.endpoint()
    if (!operation || !endpoint || options) return send(command, options)
    const body = JSON.stringify(translateMembers(command.input, MARSHALLED, marshall))
    if (BINARY.test(body)) return send(command)

    const headers = {
      host: endpoint.host,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`
    }
    const request = { origin: endpoint.origin, path: '/', method: 'POST' as const, headers, body }
    await signer.sign(request as never)
    const answer = transport.attempt(request)
    return (
      (await answer.then(
        (given) => outputOf(given, unmarshallOptions),
        () => undefined
      )) ?? send(command, { outcome: [answer] })
    )
  }
}

/**
 * What an answer says, where that can be told from here; throws where it says that the condition is
 * not met.
 */
function outputOf(
  { statusCode, headers, body }: SdkAnswer,
  options: unmarshallOptions
): object | undefined {
  const text = Buffer.from(body).toString()
  const message = BINARY.test(text) ? undefined : parse(text)
  if (!message) return undefined
  const $metadata = {
    httpStatusCode: statusCode,
    requestId: String(headers['x-amzn-requestid']),
    attempts: 1,
    totalRetryDelay: 0
  }
  if (statusCode === 200) {
    const items = message['Items'] as Array<Record<string, never>> | undefined
    return {
      $metadata,
      ...translateMembers(message, UNMARSHALLED, (item) => unmarshall(item, options)),
      ...(items && { Items: items.map((item) => unmarshall(item, options)) })
    }
  }
  if (UNMET.test(String(message['__type']))) {
    throw new UnmetCondition(
      String(message['message']),
      message['Item'] as Record<string, AttributeValue> | undefined
    )
  }
  return undefined
}

function translateMembers(
  object: Record<string, unknown>,
  members: string[],
  translate: (member: Record<string, never>) => unknown
): Record<string, unknown> {
  const translation = { ...object }
  for (const member of members) {
    if (object[member] !== undefined) {
      translation[member] = translate(object[member] as Record<string, never>)
    }
  }
  return translation
}

function marshall(item: Record<string, unknown>): unknown {
  return attributeValues(Object.entries(item))
}

function attributeValues(members: Iterable<[string, unknown]>): unknown {
  return Object.fromEntries([...members].map(([name, value]) => [name, attributeValue(value)]))
}

/**
 * A value in DynamoDB's form. For the values that records are made of the SDK takes five times as
 * long, since it first looks whether they are bytes.
 */
function attributeValue(value: unknown): unknown {
  if (typeof value === 'string') return { S: value }
  if (Number.isSafeInteger(value)) return { N: String(value) }
  if (value instanceof Map) return { M: attributeValues(value) }
  return convertToAttr(value as NativeAttributeValue)
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
