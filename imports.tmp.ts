import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import Fastify from 'fastify'

// What a service of the kind cannot do without: it imports the framework and the store's client, and does nothing.

console.log({ url: '', imported: [Fastify, DynamoDBClient, DynamoDBDocumentClient].length })
