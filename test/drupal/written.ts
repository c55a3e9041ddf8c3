import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeModel } from '../../packages/setup/write-model.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { createHttp } from '#lib/http/client.ts'
import { basicAccount } from '#lib/drupal/accounts.ts'

/** The user whose written content model every suite takes in place of the files beside them; undefined for the files. */
export const modelOf: string | undefined = process.env['MODEL_OF']

export interface Written {
  /** Where the file is. */
  file: string
  /** What the command said. */
  lines: string[]
  isRight: boolean
  /** How often somebody at a terminal would have been asked. */
  questions: number
}

/** What somebody at a terminal answers; without it nobody is there. */
export interface Answers {
  entityType: string
  bundles: string[]
}

/** What `npm run model` writes and says on a site, asked as one of its users. */
export async function writtenModel(
  site: { url: string; jsonapiPath: string },
  user: string,
  entityType?: string,
  answers?: Answers
): Promise<Written> {
  const http = createHttp({ url: site.url, timeoutMs: 60_000 })
  const file = join(mkdtempSync(join(tmpdir(), 'quoin-model-')), 'content-model.json')
  const lines: string[] = []
  let questions = 0
  const { url, jsonapiPath } = site
  const isRight = await report(
    writeModel({
      http,
      url,
      jsonapiPath,
      account: basicAccount({ http, jsonapiPath }, user, user),
      ...(entityType !== undefined && { entityType }),
      choose: async () => {
        questions++
        return answers?.entityType
      },
      chooseBundles: async () => {
        questions++
        return answers?.bundles
      },
      askPath: async () => {
        questions++
        return undefined
      },
      schema: './content-model.schema.json',
      write: (text) => writeFileSync(file, text)
    }),
    (line) => lines.push(line)
  ).finally(() => http.close())
  return { file, lines, isRight, questions }
}

const files = new Map<string, Promise<string>>()

/** The file of `modelOf`, written once for each kind of site; undefined where the suites take their own files. */
export async function modelInstead(
  kind: string,
  site: { url: string; jsonapiPath: string },
  entityType: string
): Promise<string | undefined> {
  if (modelOf === undefined) return undefined
  const file = files.get(kind) ?? writtenModel(site, modelOf, entityType).then(({ file }) => file)
  files.set(kind, file)
  return file
}
