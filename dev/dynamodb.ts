import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ClassicLevel } from 'classic-level'
import dynalite from 'dynalite'
import { LOCKS } from './kept-site.ts'

export interface EmbeddedEngine {
  /** What DYNAMODB_ENDPOINT takes. */
  endpoint: string
  close: () => Promise<void>
}

/**
 * Starts a DynamoDB-compatible engine inside this process, on a free port of 127.0.0.1. Tables have
 * to be made (lib/table/definition.ts) and are there again at the next start.
 * @param dataDir where its files are kept; without it they are in memory
 * @param prepare what is done with `dataDir` once no other process uses it, and before the engine
 *   does
 * @throws {Error} with one sentence for the user, before anything listens, when another process
 *   uses `dataDir`
 */
export async function startDynamodb(
  dataDir?: string,
  prepare: () => void = () => {}
): Promise<EmbeddedEngine> {
  const guard = dataDir === undefined ? undefined : await claim(dataDir)
  prepare()
  const server = dynalite({
    createTableMs: 0,
    ...(dataDir !== undefined && { path: join(dataDir, LOCKS) })
  })
  const finish = guardRequests(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await finish()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await guard?.close()
    }
  }
}

/**
 * Keeps requests from ending this process. dynalite throws when a caller leaves before the whole
 * body has come, and when its database closes while it works on a request, also one whose caller
 * has left.
 * @returns a function that lets no further request in and waits for those that dynalite works on
 */
function guardRequests(server: Server): () => Promise<void> {
  const underWay = new Set<ServerResponse>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    request.removeAllListeners('error').on('error', () => {})
    request.prependOnceListener('end', () => {
      underWay.add(response)
      const { end } = response
      response.end = ((...parts: Parameters<typeof end>) => {
        underWay.delete(response)
        return end.apply(response, parts)
      }) as typeof end
    })
  })
  return async () => {
    server.removeAllListeners('request')
    while (underWay.size > 0) await nextTurn()
  }
}

/**
 * Holds the directory for this process. dynalite itself would listen beside another one and crash
 * at its first request. LevelDB's lock is the system's own and ends with the process, however that
 * ends.
 */
async function claim(dataDir: string): Promise<ClassicLevel> {
  const guard = new ClassicLevel(join(dataDir, 'dynamodb.lock'))
  try {
    await guard.open()
    return guard
  } catch (error) {
    const reason = (error as Error).cause as Error & { code?: string }
    throw new Error(
      reason.code === 'LEVEL_LOCKED'
        ? `${dataDir} is in use by another Quoin; stop that one, or set DATA_DIR to another directory.`
        : `${dataDir} cannot hold the locks: ${reason.message}`,
      { cause: error }
    )
  }
}
