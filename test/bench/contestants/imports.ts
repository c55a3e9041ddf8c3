import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import Fastify from 'fastify'

// What a service of the kind cannot do without: it imports the framework and the store's client, and does nothing.

// It stays, so that its memory can be looked at, until it is ended or whoever started it is.
process.on('message', () => {})
process.send!({ url: '', imported: [Fastify, DynamoDBClient, DynamoDBDocumentClient].length })
