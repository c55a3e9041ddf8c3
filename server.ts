import { lookup } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import closeWithGrace from 'close-with-grace'
import Fastify from 'fastify'
import { standalone } from './app.ts'
import { misspeltSettings, readConfig, SettingsError, type Config } from './config/env.ts'
import { fastifyOptions, loggerOptions, standardOutput } from './config/fastify.ts'
import { listening } from './config/listening.ts'
import { serviceFields } from './config/service.ts'
import { installCommandFor, isInstalled } from './lib/package-root.ts'
import { answer, refuse } from './plugins/app/errors.ts'

/**
 * How long running requests may take to finish after SIGTERM: as long as one to Drupal may, unless
 * CMS_TIMEOUT_MS is another. Orchestrators wait 30 seconds before they kill.
 */
export const GRACE_MS = 10_000

/**
 * Starts the service and resolves, once it listens, with its address; on SIGTERM or SIGINT it
 * finishes what runs and exits.
 */
export async function serve(config: Config, graceMs = GRACE_MS): Promise<string> {
  const isReadable = process.stdout.isTTY && isInstalled('pino-pretty')
  const fastify = Fastify({
    ...fastifyOptions,
    trustProxy: config.trustedProxies,
    logger: {
      ...loggerOptions(config.logLevel, isReadable, serviceFields(config.service)),
      ...(!isReadable && { stream: standardOutput() })
    },
    frameworkErrors: answer,
    clientErrorHandler: refuse
  })
  for (const warning of misspeltSettings(process.env)) fastify.log.warn(warning)
  await fastify.register(standalone, { config })
  closeWithGrace({ delay: graceMs, logger: fastify.log }, async ({ err, signal }) => {
    if (err) fastify.log.fatal(err, 'the process ends because of an uncaught error')
    else fastify.log.info(`${signal}: running requests have ${graceMs} ms to finish`)
    await fastify.close()
  })
  return listening({ HOST: config.host, PORT: config.port }, async () => {
    // By its address: for the name localhost Fastify opens a second server, of which no plugin
    // knows and whose end no close waits for.
    const { address } = await lookup(config.host, { order: 'ipv4first' })
    return fastify.listen({ host: address, port: config.port })
  })
}

/**
 * Reads the settings file of the working directory, if there is one. What the environment has
 * already stays.
 * @throws {SettingsError} when it cannot be read
 */
export function loadEnvFile(): void {
  try {
    if (existsSync('.env')) process.loadEnvFile('.env')
  } catch (error) {
    throw new SettingsError(
      ['.env cannot be read: it has to be a text file that this user may read'],
      { cause: error }
    )
  }
}

/**
 * Ends a start that failed: in plain words where the settings, the system or a missing package are
 * the cause, else with everything there is.
 */
export function giveUp(error: unknown): never {
  const { syscall, message } = error as NodeJS.ErrnoException
  const missingPackage = missingPackageIn(error)
  if (error instanceof SettingsError) console.error(message)
  else if (missingPackage !== undefined) {
    console.error(
      `Quoin cannot start: these settings need the package ${missingPackage}, which is not installed. Run ${installCommandFor(missingPackage)}`
    )
  } else if (syscall !== undefined) console.error(`Quoin cannot start: ${message}`)
  else console.error(error)
  process.exit(1)
}

/** The package whose absence a failed import tells of. A setting may ask for an optional one. */
function missingPackageIn(error: unknown): string | undefined {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined
  return /^Cannot find package '([^']+)'/.exec(message)?.[1]
}

/**
 * Starts the service with the settings of the environment, and ends the process where it cannot.
 */
export async function start(): Promise<void> {
  try {
    loadEnvFile()
    await serve(readConfig(process.env))
  } catch (error) {
    giveUp(error)
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) await start()
