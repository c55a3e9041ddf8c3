import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import dynalite from 'dynalite'

export interface EmbeddedEngine {
  /** What DYNAMODB_ENDPOINT takes. */
  endpoint: string
  close: () => Promise<void>
}

/**
 * Starts a DynamoDB-compatible engine inside this process, on a free port of 127.0.0.1. Tables have to be made
 * (lib/dynamodb/table.ts) and are there again at the next start.
 * @param dataDir where its files are kept; without it they are in memory
 * @throws {Error} with one sentence for the user, before anything listens, when another process uses `dataDir`
 */
export async function startDynamodb (dataDir?: string): Promise<EmbeddedEngine> {
  const guard = dataDir === undefined ? undefined : await claim(dataDir)
  const server = dynalite({ createTableMs: 0, ...(dataDir !== undefined && { path: join(dataDir, 'dynamodb') }) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close () {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await guard?.close()
    }
  }
}

/**
 * Holds the directory for this process. dynalite itself would listen beside another one and crash at its first
 * request. LevelDB's lock is the system's own and ends with the process, however that ends.
 */
async function claim (dataDir: string): Promise<ClassicLevel> {
  const guard = new ClassicLevel(join(dataDir, 'dynamodb.lock'))
  try {
    await guard.open()
    return guard
  } catch (error) {
    const reason = (error as Error).cause as Error & { code?: string }
    throw new Error(reason.code === 'LEVEL_LOCKED'
      ? `${dataDir} is in use by another Quoin; stop that one, or set DATA_DIR to another directory.`
      : `${dataDir} cannot hold the locks: ${reason.message}`, { cause: error })
  }
}
