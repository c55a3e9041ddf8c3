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
