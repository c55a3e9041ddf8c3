import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { readCmsConfig, SettingsError } from '../../config/env.ts'
import { describeCandidate, writeModel } from './write-model.ts'
import type { Candidate } from './survey/candidates.ts'
import { ok, report, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { createHttp } from '../../lib/http/client.ts'
import { commandFor, PACKAGE_ROOT } from '../../lib/package-root.ts'
import { accountOf } from '../../plugins/app/editions.ts'
import { giveUp, loadEnvFile } from '../../server.ts'

interface Options {
  /** Writes over a file that is there. */
  force: boolean
  entityType?: string
}

const OPTIONS = {
  force: { type: 'boolean', default: false },
  'entity-type': { type: 'string' }
} as const

/** What of the arguments is right, in words for a person where something is not. */
function optionsIn(args: string[]): Options | string {
  try {
    const {
      values: { force, 'entity-type': entityType }
    } = parseArgs({ args, options: OPTIONS })
    return { force, ...(entityType && { entityType }) }
  } catch (error) {
    return `${(error as Error).message}\nThere are --entity-type=<name> and --force, which writes over a file that is there.`
  }
}

/**
 * Asks the Drupal at CMS_URL for its content model and writes it to the file that CONTENT_MODEL
 * names.
 */
async function* learn({ force, entityType }: Options): AsyncGenerator<Diagnosis> {
  const {
    cms: { auth, jsonapiPath, ...at },
    modelFile = 'content-model.json'
  } = readCmsConfig(process.env)
  if (existsSync(modelFile) && !force) {
    yield wrong(
      `${modelFile} is there already`,
      `see whether it is right with ${commandFor('doctor')}, or write over it with --force`
    )
    return
  }
  const http = createHttp(at)
  const account = accountOf(auth, { http, jsonapiPath })
  const schema = relative(
    dirname(resolve(modelFile)),
    join(PACKAGE_ROOT, 'config/content-model.schema.json')
  )
  let isWritten = false
  try {
    yield* writeModel({
      http,
      url: at.url,
      jsonapiPath,
      ...(account && { account }),
      ...(entityType !== undefined && { entityType }),
      choose,
      schema: schema.startsWith('.') ? schema : `./${schema}`,
      write(text) {
        writeFileSync(modelFile, text, { flag: force ? 'w' : 'wx' })
        isWritten = true
      }
    })
  } finally {
    await http.close()
  }
  if (!isWritten) return
  yield ok(
    `${modelFile}: written; look at what is guessed in it, and see with ${commandFor('doctor')} whether it is right`
  )
  if (!process.env['CONTENT_MODEL']) {
    yield unchecked(
      'CONTENT_MODEL',
      `Quoin reads the file once this setting names it: CONTENT_MODEL=${modelFile}`
    )
  }
}

/** Asks at a terminal which of several entity types it is. */
async function choose(candidates: Candidate[]): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const list = candidates
      .map((candidate, index) => `  ${index + 1}  ${describeCandidate(candidate)}`)
      .join('\n')
    const answer = (
      await terminal.question(`Which of these are the editions?\n${list}\nNumber or name: `)
    ).trim()
    return candidates.find(
      ({ entityType }, index) => answer === entityType || answer === String(index + 1)
    )?.entityType
  } finally {
    terminal.close()
  }
}

/**
 * `quoin model`: writes the content model of the Drupal at CMS_URL.
 * @param args what stands behind the verb
 */
export async function model(args: string[]): Promise<void> {
  const options = optionsIn(args)
  try {
    if (typeof options === 'string') throw new SettingsError([options])
    loadEnvFile()
    process.exitCode = (await report(learn(options), console.log)) ? 0 : 1
  } catch (error) {
    giveUp(error)
  }
}
