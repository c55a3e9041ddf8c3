import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Observe } from '../observe.ts'
import { storeFailure } from './failures.ts'

/** Lets somebody hear of a client's every operation, with all its attempts as one. */
export function observeStore (client: DynamoDBDocumentClient, observe: Observe): void {
  client.middlewareStack.add((next, { commandName }) => async (args) => {
    const { end } = observe({ to: 'store', operation: String(commandName).replace(/Command$/, '') })
    try {
      const output = await next(args)
      end('ok')
      return output
    } catch (error) {
      end(error instanceof ConditionalCheckFailedException ? 'condition' : storeFailure(error as Error).code)
      throw error
    }
  }, { step: 'initialize', name: 'observe' })
}
