import t from 'tap'
import { checkCms } from '../../packages/setup/doctor/cms.ts'
import { contentModel } from '#lib/editions/model.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { createHttp } from '#lib/http/client.ts'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { aliasesTold } from './aliases.ts'
import { createTally, differences, expected, inFlight } from './compare.ts'
import { contentModelFile, core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'
import { gazette, jsonapiPath as strangePath, leaflet, startStrange } from './strange.ts'
import { variants, type Variant } from './variants.ts'
import { writtenModel } from './written.ts'

/** Accounts that see more and less of a site's configuration. */
const accounts = ['admin', 'service', 'editor']

for (const variant of Object.keys(variants) as Variant[]) {
  t.test(
    `the model that the site "${variant}" shows is right, and Quoin with it is equal to core REST`,
    { timeout: 600_000 },
    async (t) => {
      const site = await startSite({ variant })
      t.teardown(() => site.stop())
      const {
        names: { entityType, bundleEntityType, jsonapiPath, bundles, editionTypes, keys, fields },
        content,
        url
      } = site
      const http = createHttp({ url, timeoutMs: 60_000 })
      t.teardown(() => http.close())

      for (const user of accounts) {
        await t.test(`as ${user}`, async (t) => {
          const account = basicAccount({ http, jsonapiPath }, user, user)
          const begin = Date.now()
          const { file, lines, isRight } = await writtenModel({ url, jsonapiPath }, user)
          t.ok(isRight)
          t.comment(
            `quoin model, ${variant} (Drupal ${site.version}) as ${user}, ${((Date.now() - begin) / 1000).toFixed(1)} s\n${lines.join('\n')}`
          )

          const model = contentModel((await import(file, { with: { type: 'json' } })).default)
          t.match(model, {
            entityType,
            bundleEntityType,
            keys: {
              id: keys.id,
              uuid: 'uuid',
              revision: keys.revision,
              bundle: keys.bundle,
              label: keys.label,
              published: keys.published,
              changed: keys.changed,
              langcode: 'langcode',
              defaultLangcode: 'default_langcode'
            },
            fields: { key: fields.key, editionType: fields.editionType, articles: [fields.articles] },
            references: {
              [keys.owner]: 'user',
              [keys.revisionUser]: 'user',
              [fields.articles]: 'node',
              [fields.section]: 'taxonomy_term',
              [fields.cover]: 'file'
            },
            languages: { en: '', de: 'de', fr: 'fr' },
            canonicalPaths: { [entityType]: `/${entityType}/{id}` }
          })
          t.strictSame(new Set(model.timestampFields), new Set([keys.created, keys.changed, keys.revisionCreated, fields.expires]))
          if (user !== 'editor') t.match(model, { bundles: Object.fromEntries(bundles.map(({ id, label }) => [id, label])), editionTypes })

          const found: string[] = []
          await report(checkCms({ http, url, jsonapiPath, account, model }), (line) => found.push(line))
          t.strictSame(
            found.filter((line) => line.startsWith('!')),
            [],
            'the doctor finds nothing wrong'
          )
          // Who may not see the configuration of fields is told last that decimals cannot be told.
          t.match(
            found.find((line) => line.startsWith('ok   content model: ')),
            / as the site shows it in entityType, /
          )

          const service = await startQuoin(site, { CONTENT_MODEL: file })
          t.teardown(() => service.close())
          const session = await signIn(site, 'editor')
          const tally = createTally()
          const tellsAlias = aliasesTold(site, session)
          // All editions with the model that knows least, else those that are unlike others.
          const ids =
            user === 'editor'
              ? Array.from({ length: content.editions }, (_, index) => index + 1)
              : [...new Set(Object.values(content.cases))]
          await inFlight(4, ids, async (id) => {
            const rest = await core(site, session, 'GET', `/${entityType}/${id}`)
            const ours = await quoin(service, session, 'GET', `/api/collection/${id}`)
            tally.comparisons++
            tally.differences.push(
              ...differences({ ...rest, body: await expected(rest.body, tally, tellsAlias) }, ours).map((line) => `${id}: ${line}`)
            )
          })
          t.strictSame(tally.differences, [])
          t.equal(tally.comparisons, ids.length)
          for (const id of [content.cases.empty, content.cases.german, content.cases.translated]) {
            t.equal(
              (await quoin(service, session, 'POST', `/api/collection/${id}`, { [keys.label]: [{ value: `Saved ${id} by ${user}` }] }))
                .status,
              200,
              `${id} is saved in its own language`
            )
            t.equal((await core(site, session, 'GET', `/${entityType}/${id}`)).body[keys.label][0].value, `Saved ${id} by ${user}`)
          }
        })
      }
    }
  )
}

t.test(
  'the models that the strange site shows are those written by hand, and the doctor takes both for right',
  { timeout: 900_000 },
  async (t) => {
    const site = await startStrange()
    t.teardown(site.stop)
    const { url } = site
    const http = createHttp({ url, timeoutMs: 60_000 })
    t.teardown(() => http.close())
    const at = { http, url, jsonapiPath: strangePath }
    const {
      isRight: isClear,
      lines: [, , , question]
    } = await writtenModel(at, 'editor')
    t.notOk(isClear)
    t.match(
      question,
      /^! {4}entity type: it may be gazette \(extra, sheet\), which holds nodes, leaflet, which holds nodes, scrap: name it/
    )

    for (const type of [gazette, leaflet]) {
      const { editionTypes, references, idKeys = {}, rawFields = [], ...byHand } = contentModelFile(type.model)
      for (const user of ['admin', 'editor']) {
        const { file, lines, isRight } = await writtenModel(at, user, type.entityType)
        t.ok(isRight)
        t.comment(`quoin model, ${type.entityType} (Drupal ${site.version}) as ${user}\n${lines.join('\n')}`)
        const written = contentModelFile(file)
        const { $schema: _, timestampFields, ...wanted } = byHand
        t.match(written, { ...wanted, references, idKeys, rawFields }, `${type.entityType} as ${user}`)
        t.strictSame(new Set(written.timestampFields), new Set(timestampFields))
        for (const model of [contentModelFile(type.model), written]) {
          const found: string[] = []
          await report(checkCms({ ...at, account: basicAccount(at, user, user), model: contentModel(model) }), (line) => found.push(line))
          t.strictSame(
            found.filter((line) => line.startsWith('!') && !line.includes('filters: they do not find editions that can be seen')),
            [],
            'nobody but admin may filter here, and else nothing is wrong'
          )
          t.match(
            found.find((line) => line.startsWith('ok   content model: ')),
            / as the site shows it in entityType, keys\.id, /
          )
        }
      }
    }
  }
)
