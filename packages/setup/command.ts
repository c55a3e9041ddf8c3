import { SettingsError } from '../../config/env.ts'
import { giveUp, loadEnvFile } from '../../server.ts'
import { report, type Diagnosis } from './diagnosis.ts'

/**
 * Runs a command: what it finds goes to the terminal, and whether anything is wrong becomes the
 * exit code.
 * @param options a text where the arguments are wrong, in words for a person
 */
export async function runCommand<Options extends object>(
  options: Options | string,
  find: (options: Options) => AsyncIterable<Diagnosis>
): Promise<void> {
  try {
    if (typeof options === 'string') throw new SettingsError([options])
    loadEnvFile()
    process.exitCode = (await report(find(options), console.log)) ? 0 : 1
  } catch (error) {
    giveUp(error)
  }
}
