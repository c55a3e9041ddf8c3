import type { Observe } from '../observe.ts'
import { isUnmetCondition, storeFailure, unmetOf } from './failures.ts'
import { operationOf, type Command, type Send } from './shortcut.ts'

/**
 * Tells `observe` of every operation, with all its attempts as one.
 * @param endpoint where the store is, once that is known
 */
export function observing(
  send: Send,
  observe: Observe,
  endpoint: () => { origin: string } | undefined
): Send {
  return async (command, options) => {
    const { end } = observe({
      to: 'store',
      operation: operationOf(command),
      table: tableOf(command)
    })
    try {
      const output = await send(command, options)
      end('ok', { origin: endpoint()?.origin })
      return output
    } catch (error) {
      const origin = endpoint()?.origin
      if (isUnmetCondition(error) || unmetOf(error).length > 0) end('condition', { origin })
      else {
        const { name } = error as Error
        end(storeFailure(error as Error).code, { origin, error: name })
      }
      throw error
    }
  }
}

/** The table that a command is about: a transaction of Quoin is about a single one. */
function tableOf({ input }: Command): string {
  const { TransactItems } = input as { TransactItems?: Array<Record<string, object>> }
  const target = TransactItems ? Object.values(TransactItems[0]!)[0]! : input
  return String((target as { TableName?: unknown }).TableName)
}
