import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readSiteConfig } from '../../config/env.ts'
import { createHttp } from '../../lib/http/client.ts'
import { commandFor } from '../../lib/package-root.ts'
import { accountOf } from '../../plugins/app/editions.ts'
import { ok, wrong, type Diagnosis } from './diagnosis.ts'
import { runCommand } from './command.ts'
import { WRITTEN } from './types/file.ts'
import { writeTypes } from './write-types.ts'

interface Options {
  file: string
  /** Writes over a file that it has not written. */
  force: boolean
}

/** What of the arguments is right, in words for a person where something is not. */
function optionsIn(args: string[]): Options | string {
  try {
    const {
      values: { force },
      positionals: [file = 'content.ts', ...others]
    } = parseArgs({
      args,
      options: { force: { type: 'boolean', default: false } },
      allowPositionals: true
    })
    if (others.length === 0) return { file, force }
    return `It writes one file, but was given ${[file, ...others].join(' ')}`
  } catch (error) {
    return `${(error as Error).message}\nThere are the name of the file, content.ts by default, and --force, which writes over a file that ${commandFor('types')} has not written.`
  }
}

/** Asks the Drupal at CMS_URL for the fields of the content model's bundles, and writes their types. */
async function* learn({ file, force }: Options): AsyncGenerator<Diagnosis> {
  const {
    cms: { auth, jsonapiPath, ...at },
    contentModel: model
  } = readSiteConfig(process.env)
  if (!force && existsSync(file) && !readFileSync(file, 'utf8').startsWith(WRITTEN)) {
    yield wrong(
      `${file} is there already, and something else has written it`,
      'name another file, or write over it with --force'
    )
    return
  }
  const http = createHttp(at)
  const account = accountOf(auth, { http, jsonapiPath })
  let isWritten = false
  try {
    yield* writeTypes({
      http,
      url: at.url,
      jsonapiPath,
      model,
      ...(account && { account }),
      write(text) {
        writeFileSync(file, text)
        isWritten = true
      }
    })
  } finally {
    await http.close()
  }
  if (isWritten) yield ok(`${file}: written, for createClient<Edition, Lists>()`)
}

/**
 * `quoin types`: writes the types of editions, and of what lists have, for the client.
 * @param args what stands behind the verb
 */
export async function types(args: string[]): Promise<void> {
  await runCommand(optionsIn(args), learn)
}
