/** What carries texts from each instance to all of them, this one too. */
export interface Wire {
  /**
   * Connects, and does so again after each loss.
   * @param received gets every text
   * @param connected gets whether texts can be sent and received, after each change
   */
  open(received: (text: string) => void, connected: (isConnected: boolean) => void): void
  /** Rejects where the text was not sent, or nobody knows. */
  send(text: string): Promise<unknown>
  close(): void
}

/**
 * How many there were of something within a window of time, and how many milliseconds are left of
 * the window.
 */
export interface Count {
  current: number
  ttl: number
}

/** Counts for all instances together. */
export interface SharedCounter {
  /**
   * Counts one more under a key. The window begins with the first.
   * @returns what the bus says, which may be no sensible count. Rejects where it does not count.
   */
  count(key: string, windowMs: number): Promise<Count>
}
