import { readFileSync } from 'node:fs'

/**
 * The secrets among the settings. Each may be in a file instead, as Docker and Kubernetes mount
 * them.
 */
export const SECRETS = [
  'OTEL_EXPORTER_OTLP_HEADERS',
  'EVENTS_BUS_URL',
  'CMS_MODULE_SECRET',
  'CMS_PASSWORD',
  'CMS_CLIENT_SECRET'
] as const

/** What names the file of a secret in place of the secret itself. */
export const fileOf = (secret: string) => `${secret}_FILE`

/**
 * Puts the contents of secret files in the place of the secrets that they hold. A line break at the
 * end of a file, which editors add, is not part of the secret. A file that cannot be read, or a
 * secret that is set twice, is added to `problems`.
 */
export function withSecretFiles(
  env: Record<string, string | undefined>,
  problems: string[]
): Record<string, string | undefined> {
  const secrets: Record<string, string> = {}
  for (const name of SECRETS) {
    const variable = fileOf(name)
    const path = env[variable]
    if (!path) continue
    if (env[name]) problems.push(`${name} and ${variable} are both set: set only one of them`)
    try {
      secrets[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      if (secrets[name] === '') {
        problems.push(`${variable} is ${JSON.stringify(path)} but that file is empty`)
      }
    } catch (error) {
      problems.push(`${variable} is ${JSON.stringify(path)} but ${(error as Error).message}`)
    }
  }
  return { ...env, ...secrets }
}
