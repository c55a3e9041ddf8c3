import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { readCmsConfig } from '../../config/env.ts'
import { describeCandidate, writeModel } from './write-model.ts'
import type { BundleProposal } from './survey/bundles.ts'
import type { Candidate } from './survey/candidates.ts'
import { ok, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { runCommand } from './command.ts'
import { createHttp } from '../../lib/http/client.ts'
import { commandFor, PACKAGE_ROOT } from '../../lib/package-root.ts'
import { accountOf } from '../../plugins/app/editions.ts'

interface Options {
  /** Writes over a file that is there. */
  force: boolean
  entityType?: string
  bundles?: string[]
}

const OPTIONS = {
  force: { type: 'boolean', default: false },
  'entity-type': { type: 'string' },
  bundles: { type: 'string' }
} as const

/** What of the arguments is right, in words for a person where something is not. */
function optionsIn(args: string[]): Options | string {
  try {
    const {
      values: { force, 'entity-type': entityType, bundles = '' }
    } = parseArgs({ args, options: OPTIONS })
    const names = namesIn(bundles)
    return {
      force,
      ...(entityType && { entityType }),
      ...(names.length > 0 && { bundles: names })
    }
  } catch (error) {
    return `${(error as Error).message}\nThere are --entity-type=<name>, --bundles=<name>,<name> and --force, which writes over a file that is there.`
  }
}

/** Names between commas or spaces. */
const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== '')

/**
 * Asks the Drupal at CMS_URL for its content model and writes it to the file that CONTENT_MODEL
 * names.
 */
async function* learn({ force, entityType, bundles }: Options): AsyncGenerator<Diagnosis> {
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
      ...(bundles && { bundles }),
      chooseBundles,
      askPath,
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
  const list = candidates
    .map((candidate, index) => `  ${index + 1}  ${describeCandidate(candidate)}`)
    .join('\n')
  const answer = await question(`Which of these are the editions?\n${list}\nNumber or name: `)
  return candidates.find(
    ({ entityType }, index) => answer === entityType || answer === String(index + 1)
  )?.entityType
}

/** Asks at a terminal which bundles are editions; an empty answer takes those proposed. */
async function chooseBundles({
  bundles,
  editions,
  why
}: BundleProposal): Promise<string[] | undefined> {
  const list = bundles.map((bundle, index) => `  ${index + 1}  ${bundle}`).join('\n')
  const proposed = editions.length > 0 ? ` [${editions.join(', ')}: ${why}]` : ` (${why})`
  const answer = await question(
    `Which of these bundles are editions, and not articles?\n${list}\nNumbers or names${proposed}: `
  )
  if (answer === undefined) return undefined
  const names = namesIn(answer).map((name) => bundles[Number(name) - 1] ?? name)
  return names.length > 0 ? names : editions
}

/** Asks at a terminal where entities of a type have their pages. */
async function askPath(entityType: string, id: string): Promise<string | undefined> {
  if (id === '') return undefined
  const answer = await question(
    `Which address does ${entityType} ${id} have on the site, such as /${entityType}/${id}? Empty if it has no page: `
  )
  return answer === '' ? undefined : answer
}

/** The answer to a question at a terminal; undefined elsewhere. */
async function question(text: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await terminal.question(text)).trim()
  } finally {
    terminal.close()
  }
}

/**
 * `quoin model`: writes the content model of the Drupal at CMS_URL.
 * @param args what stands behind the verb
 */
export async function model(args: string[]): Promise<void> {
  await runCommand(optionsIn(args), learn)
}
