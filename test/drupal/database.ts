import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/**
 * The server of the databases of sites, such as `mysql://user:password@127.0.0.1:3306` or `pgsql://...`, whose user may
 * make databases; undefined for an SQLite file in each site.
 */
const server = process.env['DRUPAL_DATABASE']

/** What a snapshot belongs to, beside the core and the recipe. */
export const databaseKind = server === undefined ? 'sqlite' : new URL(server).protocol

/** The name of a site's database, as settings.php makes it. */
const nameOf = (web: string): string => `quoin_${createHash('md5').update(web).digest('hex').slice(0, 12)}`

/** Makes the empty database of a site, where it has one on a server. */
export async function createDatabase(web: string): Promise<void> {
  await dropDatabase(web)
  if (server !== undefined) await query(`CREATE DATABASE ${nameOf(web)}`)
}

/** Removes it. */
export async function dropDatabase(web: string): Promise<void> {
  if (server !== undefined) await query(`DROP DATABASE IF EXISTS ${nameOf(web)}${isPostgres() ? ' WITH (FORCE)' : ''}`)
}

/** Writes what it holds into a folder. */
export async function dumpDatabase(web: string, folder: string): Promise<void> {
  if (server === undefined) return
  const { command, args, env } = isPostgres() ? client('pg_dump', nameOf(web)) : client('mariadb-dump', nameOf(web))
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  await pipeline(child.stdout, createWriteStream(join(folder, 'dump.sql')))
  await requireSuccess(closed)
}

/** Makes the database of a site out of what was written into a folder. */
export async function restoreDatabase(web: string, folder: string): Promise<void> {
  if (server === undefined) return
  await createDatabase(web)
  await run(nameOf(web), createReadStream(join(folder, 'dump.sql')))
}

function isPostgres(): boolean {
  return databaseKind === 'pgsql:'
}

async function query(sql: string): Promise<void> {
  await run(isPostgres() ? 'postgres' : undefined, [sql])
}

async function run(database: string | undefined, input: AsyncIterable<unknown> | Iterable<string>): Promise<void> {
  const { command, args, env } = client(isPostgres() ? 'psql' : 'mariadb', database)
  const child = spawn(command, args, { env, stdio: ['pipe', 'ignore', 'inherit'] })
  const closed = once(child, 'close')
  await pipeline(input, child.stdin)
  await requireSuccess(closed)
}

async function requireSuccess(closed: Promise<unknown[]>): Promise<void> {
  const [code] = await closed
  if (code !== 0) throw new Error(`The client of the database ended with ${String(code)}`)
}

/** A program of the server's, with the way to it. */
function client(command: string, database: string | undefined) {
  const { hostname, port, username, password } = new URL(server!)
  const name = database === undefined ? [] : [database]
  if (isPostgres()) {
    const quiet = command === 'psql' ? ['-q', '-v', 'ON_ERROR_STOP=1'] : ['--no-owner']
    return {
      command,
      args: ['-h', hostname, '-p', port, '-U', username, ...quiet, ...name],
      env: { ...process.env, PGPASSWORD: password, PGOPTIONS: '-c client_min_messages=warning' }
    }
  }
  return {
    command,
    args: ['--no-defaults', `-h${hostname}`, `-P${port}`, `-u${username}`, ...name],
    env: { ...process.env, MYSQL_PWD: password }
  }
}
