declare module 'dynalite' {
  import type { Server } from 'node:http'

  /** A DynamoDB engine as an HTTP server; with `path` on disk, else in memory. */
  export default function dynalite(options?: { path?: string; createTableMs?: number }): Server
}
