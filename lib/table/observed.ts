import type { Observe } from '../observe.ts'
import { isUnmetCondition, storeFailure, unmetOf } from './failures.ts'
import { operationOf, type Send } from './shortcut.ts'

/** Tells `observe` of every operation, with all its attempts as one. */
export function observing(send: Send, observe: Observe): Send {
  return async (command, options) => {
    const { end } = observe({ to: 'store', operation: operationOf(command) })
    try {
      const output = await send(command, options)
      end('ok')
      return output
    } catch (error) {
      end(
        isUnmetCondition(error) || unmetOf(error).length > 0
          ? 'condition'
          : storeFailure(error as Error).code
      )
      throw error
    }
  }
}
