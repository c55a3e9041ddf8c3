import {
  CreateTableCommand,
  ResourceInUseException,
  waitUntilTableExists,
  type CreateTableCommandInput,
  type TableDescription
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'

/**
 * The attribute for the table's time to live, Unix seconds: when a record may be cleaned up, long
 * after it has lost its meaning. Nothing depends on the deletion, so a table without time to live
 * works as well and only grows.
 */
export const REMOVE_AT = 'removeAt'

/** The table as CreateTable takes it; a site's own table needs the same two keys. */
export function tableDefinition(name: string): CreateTableCommandInput {
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      { AttributeName: 'env_entityType_entityId', AttributeType: 'S' },
      { AttributeName: 'fieldName', AttributeType: 'S' }
    ],
    KeySchema: [
      { AttributeName: 'env_entityType_entityId', KeyType: 'HASH' },
      { AttributeName: 'fieldName', KeyType: 'RANGE' }
    ]
  }
}

/**
 * How often a new table is asked for its state, in seconds: an engine on this machine has it within
 * milliseconds, AWS after some seconds.
 */
const POLLING = { minDelay: 0.01, maxDelay: 1, maxWaitTime: 30 }

/**
 * Makes the table where it is absent and waits until it can be used. An existing table is left as
 * it is.
 */
export async function createTable(client: DynamoDBDocumentClient, name: string): Promise<void> {
  try {
    await client.send(new CreateTableCommand(tableDefinition(name)))
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error
  }
  await waitUntilTableExists({ client, ...POLLING }, { TableName: name })
}

/** The keys of a table in words, such as `partition key a (S), sort key b (S)`. */
export function keysOf({
  KeySchema = [],
  AttributeDefinitions = []
}: Pick<TableDescription, 'KeySchema' | 'AttributeDefinitions'>): string {
  return KeySchema.map(({ AttributeName: name, KeyType: kind }) => {
    const type = AttributeDefinitions.find(
      ({ AttributeName }) => AttributeName === name
    )?.AttributeType
    return `${kind === 'HASH' ? 'partition' : 'sort'} key ${name} (${type})`
  }).join(', ')
}
