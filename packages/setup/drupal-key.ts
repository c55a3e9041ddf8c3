import { generateKeyPair as generate } from 'node:crypto'
import { chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** A public key, and when it is over, in seconds since 1970; one that signs has no end yet. */
type PublishedKey = JWK & { expires?: number }

/** What the Drupal module signs with, and which keys it publishes (TokenKey.php). */
interface KeyFile {
  kid: string
  private_key: string
  keys: PublishedKey[]
}

/**
 * How long a key is published after another one has taken its place, in seconds: twice as long as
 * its last token is valid (Tokens.php), since several web servers get the new file one after the
 * other.
 */
const OVER_SECONDS = 600

/** How many keys that are nearly over stay in the file. */
const OLD_KEYS = 10

const MODULUS_BITS = 2048

/** Nobody else may read a key. */
const MODE = 0o600

const generateKeyPair = promisify(generate)

/** `quoin drupal-key <file>`: makes the key that Drupal signs tokens with, or the next one. */
export async function drupalKey(args: string[]): Promise<void> {
  try {
    const [file, ...others] = args
    if (file === undefined || file.startsWith('-') || others.length > 0) {
      throw new Error('Name one file for the key: quoin drupal-key /etc/quoin/drupal-key.json')
    }
    console.log(await renewKey(file, Date.now()))
  } catch (error) {
    console.error(`Quoin made no key. ${(error as Error).message}`)
    process.exitCode = 1
  }
}

/**
 * Writes a new key into a file. The public key that was there stays in it until its tokens are
 * over.
 * @param now in milliseconds since 1970
 * @returns what was done, for the reader
 * @throws {Error} where the file has something else, or cannot be written. It is unchanged then
 */
export async function renewKey(file: string, now: number): Promise<string> {
  const earlier = readKeyFile(file)
  const seconds = Math.floor(now / 1000)
  const { kid, ...pair } = await newKey()
  const old = (earlier?.keys ?? [])
    .map((key) => ({ ...key, expires: key.expires ?? seconds + OVER_SECONDS }))
    .filter(({ expires }) => expires > seconds)
    .slice(0, OLD_KEYS)
  replaceFile(file, { kid, private_key: pair.private_key, keys: [pair.key, ...old] })
  return earlier
    ? `${file} has a new key. The one before it is published for ${OVER_SECONDS / 60} minutes more: copy the file to all web servers within 5.`
    : `${file} has a key. Give it to the user that runs PHP (chown), name it in settings.php ($settings['quoin']['key_file']), and run drush cr.`
}

async function newKey(): Promise<Pick<KeyFile, 'kid' | 'private_key'> & { key: PublishedKey }> {
  const { publicKey, privateKey } = await generateKeyPair('rsa', { modulusLength: MODULUS_BITS })
  const jwk = publicKey.export({ format: 'jwk' }) as JWK
  const kid = await calculateJwkThumbprint(jwk)
  return {
    kid,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    key: { ...jwk, kid, use: 'sig', alg: 'RS256' }
  }
}

/** @returns undefined where there is no file yet */
function readKeyFile(file: string): KeyFile | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const content = parse(text)
  if (!Array.isArray(content?.keys)) {
    throw new Error(`${file} has something else than a key of Quoin's. It was left as it is.`)
  }
  return content
}

function parse(text: string): KeyFile | null {
  try {
    return JSON.parse(text) as KeyFile
  } catch {
    return null
  }
}

/** Writes a file at once, for the owner that it had: PHP may read it at any time. */
function replaceFile(file: string, content: KeyFile): void {
  const next = `${file}.${process.pid}`
  try {
    writeFileSync(next, `${JSON.stringify(content, null, 2)}\n`, { mode: MODE, flag: 'wx' })
    const owner = statSync(file, { throwIfNoEntry: false })
    if (owner) chownSync(next, owner.uid, owner.gid)
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  }
}
