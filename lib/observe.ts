/** One call to what stands behind the service. */
export interface ObservedCall {
  to: 'cms' | 'store'
  /** The HTTP method, or DynamoDB's name of the operation. */
  operation: string
  /**
   * The path that the CMS is asked for, without its query, which may hold what somebody searched
   * for.
   */
  path?: string
}

/** Hears of the end of a call. */
export interface CallObserver {
  /** Header fields for the call to take along. */
  headers?: Record<string, string>
  /**
   * Call this once, with the class of the HTTP status such as `2xx`, `ok`, or the code of the
   * failure; and with the status.
   */
  end(outcome: string, status?: number): void
}

/** Hears of the beginning of a call. */
export type Observe = (call: ObservedCall) => CallObserver
