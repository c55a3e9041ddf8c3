/** A request that the stub CMS was sent, and the status of its answer. */
export interface Asked {
  method: string
  path: string
  headers: Record<string, string>
  body: string
  status: number
}

/** The header field of requests that are sent again, for comparison. */
export const REPLAYED = 'x-replayed'

/** An operation that the stub store was asked for, and from when until when it took, in milliseconds. */
export interface StoreRequest {
  operation: string
  from: number
  to: number
}
