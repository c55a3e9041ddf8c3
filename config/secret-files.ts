import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import { inGroup, setting } from './setting.ts'

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

/** The settings that name the files of Drupal's secrets, as part of the environment. */
export const SecretFilesEnvironment = inGroup('Drupal: whose credentials', {
  CMS_MODULE_SECRET_FILE: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'A file with the secret of the module, in place of CMS_MODULE_SECRET.',
    allowed: 'the path of a file with what CMS_MODULE_SECRET would be',
    example: '/run/secrets/cms-module-secret'
  }),
  CMS_PASSWORD_FILE: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'A file with the password, in place of CMS_PASSWORD.',
    allowed: 'the path of a file with what CMS_PASSWORD would be',
    example: '/run/secrets/cms-password'
  }),
  CMS_CLIENT_SECRET_FILE: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'A file with the client secret, in place of CMS_CLIENT_SECRET.',
    allowed: 'the path of a file with what CMS_CLIENT_SECRET would be',
    example: '/run/secrets/cms-client-secret'
  })
})

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
    const path = env[`${name}_FILE`]
    if (!path) continue
    if (env[name]) problems.push(`${name} and ${name}_FILE are both set: set only one of them`)
    try {
      secrets[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
      if (secrets[name] === '') {
        problems.push(`${name}_FILE is ${JSON.stringify(path)} but that file is empty`)
      }
    } catch (error) {
      problems.push(`${name}_FILE is ${JSON.stringify(path)} but ${(error as Error).message}`)
    }
  }
  return { ...env, ...secrets }
}
