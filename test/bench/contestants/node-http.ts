import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { serveLocks, TableName, type Lock } from './lock-service.ts'

// Field locks by the stock document client and one conditional write.

const client = DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'local', endpoint: process.env['DYNAMODB_ENDPOINT']! }))

async function acquire(key: string, { fieldName, userData, payload }: Lock): Promise<{ inTheWay: object | undefined } | undefined> {
  try {
    await client.send(
      new PutCommand({
        TableName,
        Item: { env_entityType_entityId: key, fieldName, userData, payload, timestamp: Math.floor(Date.now() / 1000) },
        ConditionExpression: 'attribute_not_exists(fieldName) OR userData.uid = :uid',
        ExpressionAttributeValues: { ':uid': userData.uid },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
      })
    )
    return undefined
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error
    return { inTheWay: error.Item ? unmarshall(error.Item) : (await list(key)).Items?.[0] }
  }
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

serveLocks({ acquire, release, list })
