/** One call to the CMS. */
export interface ObservedRequest {
  to: 'cms'
  /** The HTTP method. */
  operation: string
  /**
   * What is asked for, without credentials and without the query, which may hold what somebody
   * searched for.
   */
  url: string
  /** Whether it is sent a second time. */
  isRetry: boolean
}

/** One operation of the store. */
export interface ObservedOperation {
  to: 'store'
  /** DynamoDB's name of it. */
  operation: string
  table: string
}

/** One call to what stands behind the service. */
export type ObservedCall = ObservedRequest | ObservedOperation

/** What is known of a call when it is over. */
export interface CallResult {
  /** The HTTP status of the CMS. */
  status?: number
  /** Where the store was asked, such as `https://dynamodb.eu-central-1.amazonaws.com`. */
  origin?: string | undefined
  /** DynamoDB's or the SDK's name of an error. */
  error?: string
}

/** Hears of the end of a call. */
export interface CallObserver {
  /** Header fields for the call to take along. */
  headers?: Record<string, string>
  /**
   * Call this once, with the class of the HTTP status such as `2xx`, `ok`, or the code of the
   * failure; and with what else is known.
   */
  end(outcome: string, result?: CallResult): void
}

/** Hears of the beginning of a call. */
export type Observe = (call: ObservedCall) => CallObserver
