import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { contentModel, type ContentModel } from '#lib/editions/model.ts'
import { createHttp } from '#lib/http/client.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { checkCms } from '../../packages/setup/doctor/cms.ts'
import { writeModel } from '../../packages/setup/write-model.ts'
import { count, createTally, differences, expected, type Tally } from '../drupal/compare.ts'
import {
  nodesScenes,
  nodesVersions,
  startRecordedDrupal,
  type RecordedDrupal,
  type Scene,
  type SceneOf
} from '../fixtures/nodes-recordings.ts'
import { example } from '../fixtures/replay.ts'
import { build } from '../helper.ts'
import { sample } from '../scope.ts'

const jsonapiPath = '/cms/data'
const prefixes: Record<string, string> = { nl: '', en: '/en', fr: '/fr' }
/** The questions of one service: what it has learned of the site is part of what it asks. */
const groupOf = ({ kind, user, language, name }: Scene) => (kind === 'list' ? name : `${kind === 'save' ? 'saves' : user} ${language}`)

const AGAIN = 'Quoin asked Drupal what it did not when the site was recorded: record it anew (test/drupal/README.md)'

type Edition = Record<string, any[]>

/** The file that `npm run model` writes. */
async function writtenModel(drupal: RecordedDrupal, user: string): Promise<string> {
  const http = createHttp({ url: drupal.url, timeoutMs: 5000 })
  let text = ''
  await report(
    writeModel({
      http,
      url: drupal.url,
      jsonapiPath,
      account: basicAccount({ http, jsonapiPath }, user, user),
      choose: async () => undefined,
      chooseBundles: async () => undefined,
      schema: './content-model.schema.json',
      write: (written) => {
        text = written
      }
    }),
    () => {}
  )
  await http.close()
  return text
}

/** What the doctor finds wrong, but that core lets no editor filter among what is unpublished. */
async function adviceOf(drupal: RecordedDrupal, user: string, model: ContentModel): Promise<string[]> {
  const http = createHttp({ url: drupal.url, timeoutMs: 5000 })
  const lines: string[] = []
  const account = basicAccount({ http, jsonapiPath }, user, user)
  await report(checkCms({ http, url: drupal.url, jsonapiPath, account, model }), (line) => lines.push(line))
  await http.close()
  return lines.filter((line) => line.startsWith('!') && !line.includes('filters: they do not find'))
}

const isQuestion = ({ kind }: Scene) => kind !== 'model' && kind !== 'doctor'

/** Asks Quoin as it was recorded to be asked. */
async function ask(
  service: FastifyInstance,
  { user, url }: { user: string; url: string },
  body?: unknown
): Promise<{ status: number; body: any }> {
  const response = await service.inject({
    method: body === undefined ? 'GET' : 'POST',
    url,
    headers: { authorization: `Basic ${Buffer.from(`${user}:${user}`).toString('base64')}` },
    ...(body !== undefined && { payload: body as object })
  })
  return { status: response.statusCode, body: JSON.parse(response.body.replace(/http:\/\/127\.0\.0\.1:\d+/g, example)) }
}

/** What core REST has shown, with the known differences (docs/core-rest.md) applied. */
const shownBy = (core: Edition, { hiddenTargets }: { hiddenTargets: string[] }, tally: Tally) =>
  expected(core, tally, async (_, uuid) => !hiddenTargets.includes(uuid))

/** What differs between core REST's recorded answer and Quoin's to the same question. */
async function differing(service: FastifyInstance, scene: Scene, tally: Tally): Promise<string[]> {
  if (scene.kind === 'read') {
    const ours = await ask(service, scene)
    const { status, body } = scene.core
    // JSON:API hides which edition has an id.
    if (status >= 400) return [403, 404].includes(ours.status) ? [] : [`${ours.status}, not ${status}`]
    return differences({ status, body: await shownBy(body, scene, tally) }, ours)
  }
  if (scene.kind === 'list') {
    const { body } = await ask(service, scene)
    const ids = (body.data ?? []).map((edition: Edition) => edition['nid']![0].value)
    return differences({ status: 200, body: scene.core }, { status: 200, body: { total: body.meta?.total, ids } })
  }
  if (scene.kind === 'save') return differingSave(await ask(service, scene, scene.body), scene, tally)
  return []
}

async function differingSave(ours: { status: number; body: any }, scene: SceneOf<'save'>, tally: Tally): Promise<string[]> {
  const { core, stored } = scene
  // JSON:API changes no entity that has a draft (docs/core-rest.md).
  if (core.status === 200 && ours.status === 409 && /newer draft/.test(ours.body.message)) {
    count(tally, 'a draft is pending')
    return []
  }
  if (core.status !== 200 || ours.status !== 200) return differences(core, ours)
  return differences({ status: 200, body: settled(await shownBy(stored.body, scene, tally)) }, { status: 200, body: settled(ours.body) })
}

/**
 * An edition without what differs from save to save, the times and the number of saves before it, and without the user
 * of the revision, whom JSON:API sets and core REST does not (docs/core-rest.md).
 */
function settled({ changed: _1, revision_timestamp: _2, vid: _3, revision_uid: _4, ...edition }: Edition): Edition {
  return edition
}

for (const version of nodesVersions) {
  t.test(`on the site of nodes of Drupal ${version} Quoin answers as core REST was recorded to, by the model that it writes`, async (t) => {
    const scenes = nodesScenes(version)
    const drupal = await startRecordedDrupal(t, scenes)
    const folder = mkdtempSync(join(tmpdir(), 'quoin-nodes-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'content-model.json')
    const tallies = new Map<string, Tally>()
    let model = contentModel({})
    let service: FastifyInstance | undefined
    let asked = ''
    const groups = new Set(sample([...new Set(scenes.filter(isQuestion).map(groupOf))], 3))
    for (const scene of scenes) {
      drupal.enter(scene)
      const { kind, user, language, name } = scene
      if (kind === 'model') {
        const text = await writtenModel(drupal, user)
        writeFileSync(file, text)
        model = contentModel(JSON.parse(text))
        t.match(model, {
          entityType: 'node',
          keys: { id: 'nid', revision: 'vid', bundle: 'type', label: 'title', published: 'status', changed: 'changed' },
          fields: { key: 'field_number', articles: ['field_stories'] },
          bundles: { issue: 'Dagblad', supplement: 'Bijlage' },
          languages: { nl: '', en: 'en', fr: 'fr' },
          timeZone: 'Europe/Brussels'
        })
      } else if (kind === 'doctor') {
        t.strictSame(await adviceOf(drupal, user, model), [], name)
      } else {
        const group = groupOf(scene)
        if (!groups.has(group)) continue
        if (asked !== group) {
          service = await build(t, {
            CMS_URL: drupal.url,
            CMS_JSONAPI_PATH: prefixes[language] + jsonapiPath,
            CONTENT_MODEL: file
          })
          asked = group
        }
        const row = `${kind}s, ${language}`
        const tally = tallies.get(row) ?? createTally()
        tallies.set(row, tally)
        tally.comparisons++
        t.strictSame(await differing(service!, scene, tally), [], name)
        // Of lists the ids are compared. For which urls Drupal is asked depends on which page comes first.
        if (kind === 'list') drupal.unknown.splice(0)
      }
    }
    t.strictSame(drupal.unknown, [], AGAIN)
    for (const [row, { comparisons, known }] of tallies) t.comment(`${version} ${row}: ${comparisons} compared; ${[...known].join('; ')}`)
  })
}
