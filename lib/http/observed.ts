import type { Failure } from '../errors.ts'
import type { Observe } from '../observe.ts'
import type { HttpAnswer, HttpRequest } from '../jsonapi/client.ts'

/** One request, sent once and to be answered within so many milliseconds. */
export type Exchange = (request: HttpRequest, ms: number) => Promise<HttpAnswer>

/** An exchange of whose every request somebody hears. */
export function observed (exchange: Exchange, observe: Observe): Exchange {
  return async (request, ms) => {
    const { headers, end } = observe({ to: 'cms', operation: request.method, path: request.path.split('?', 1)[0]! })
    try {
      const answer = await exchange({ ...request, headers: { ...request.headers, ...headers } }, ms)
      end(`${Math.trunc(answer.status / 100)}xx`, answer.status)
      return answer
    } catch (error) {
      end((error as Failure).code)
      throw error
    }
  }
}
