import { SettingsError } from './env.ts'

/** What the system refuses because of the address, not of the port. */
const OF_THE_HOST = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']

/**
 * Listens, and says which setting is wrong where the system refuses to.
 *
 * @param settings the host's setting with its value, then the port's
 * @throws {SettingsError} naming the port that is in use, or the host that this machine does not
 *   have
 */
export async function listening(
  settings: { [name: string]: string | number },
  listen: () => Promise<string>
): Promise<string> {
  try {
    return await listen()
  } catch (error) {
    const { code = '', syscall = '', message } = error as NodeJS.ErrnoException
    if (!['listen', 'getaddrinfo'].includes(syscall)) throw error
    const [host, port] = Object.entries(settings) as [[string, string], [string, number]]
    const [name, value] = OF_THE_HOST.includes(code) ? host : port
    throw new SettingsError([`${name} is ${JSON.stringify(String(value))} but ${message}`], {
      cause: error
    })
  }
}
