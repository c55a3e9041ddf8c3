import t from 'tap'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { contentModel } from '#lib/editions/model.ts'
import { createHttp } from '#lib/http/client.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { checkCms } from '../../packages/setup/doctor/cms.ts'
import type { Tally } from './compare.ts'
import { compareLists, compareReads, compareSaves, startBeside, startEditions, type EditionsSite } from './editions-of.ts'
import { magazineEditions } from './magazine.ts'
import { nodesEditions } from './nodes.ts'
import { contentModelFile } from './quoin.ts'
import { umamiEditions } from './umami.ts'
import { writtenModel } from './written.ts'

/** Each site, with what `npm run model` has to learn of it, and what the doctor says that a site like it cannot help. */
const sites: Array<{ of: EditionsSite; model: object; questions: number; known: RegExp; form?: unknown[] }> = [
  {
    of: nodesEditions,
    model: {
      entityType: 'node',
      keys: { id: 'nid', revision: 'vid', bundle: 'type', label: 'title', published: 'status', changed: 'changed' },
      fields: { key: 'field_number', articles: ['field_stories'] },
      bundles: { issue: 'Dagblad', supplement: 'Bijlage' },
      languages: { nl: '', en: 'en', fr: 'fr' },
      timeZone: 'Europe/Brussels'
    },
    questions: 1,
    // Core lets no editor filter among what is unpublished, and the module of Quoin is not enabled here.
    known: /filters: they do not find/
  },
  {
    of: umamiEditions,
    model: { entityType: 'node', languages: { en: 'en', es: 'es' } },
    questions: 1,
    known: /filters: they do not find/
  },
  {
    of: magazineEditions,
    model: {
      entityType: 'taxonomy_term',
      keys: { id: 'tid', revision: 'revision_id', bundle: 'vid', label: 'name', published: 'status', changed: 'changed' },
      fields: { key: 'field_cote', articles: ['field_sommaire'] },
      languages: { fr: '', de: 'de', en: 'english' },
      timeZone: 'Europe/Paris'
    },
    questions: 1,
    known: /filters: they do not find/,
    form: [
      ['field_cote', { label: 'Cote', description: 'Une par numéro', required: true }],
      ['field_parution', { label: 'Parution', required: true }],
      ['field_a_lire', { label: 'À lire aussi' }],
      ['field_sommaire', { label: 'Sommaire', description: 'Dans l’ordre de la revue' }],
      ['field_rythme', { label: 'Rythme' }],
      ['field_chapeau', { label: 'Chapeau', group: 'Textes' }],
      ['field_edito', { label: 'Éditorial', group: 'Textes' }]
    ]
  }
]

/** A row of the table. */
interface Row {
  site: string
  what: string
  language: string
  compared: number
  differences: number
  known: string
}

const rows: Row[] = []
const only = process.env['SITES']?.split(',')

for (const { of, model: wanted, questions, known, form } of sites.filter(({ of }) => only?.includes(of.recipe.id) !== false)) {
  const { id: name } = of.recipe
  const { jsonapiPath } = of.recipe.names

  t.test(
    `${name}: what npm run model writes makes reads, lists and saves those of core REST in each language`,
    { timeout: 1_400_000 },
    async (t) => {
      const [site, twin] = await Promise.all([startEditions(of), startEditions(of)])
      t.teardown(() => Promise.all([site.stop(), twin.stop()]))
      const at = { url: site.url, jsonapiPath }

      function record(what: string, language: string, tally: Tally): void {
        const knownText = [...tally.known].map(([difference, number]) => `${difference}: ${number}`).join('; ')
        rows.push({
          site: `${name}, ${site.version}`,
          what,
          language,
          compared: tally.comparisons,
          differences: tally.differences.length,
          known: knownText
        })
        t.strictSame(tally.differences.slice(0, 20), [], `${what}, ${language}`)
      }

      const files: string[] = []
      for (const account of ['service', 'editor']) {
        const { file, lines, isRight, questions: asked } = await writtenModel(at, account, undefined, of)
        files.push(file)
        t.ok(isRight)
        t.ok(asked <= questions, `${asked} questions`)
        t.comment(`npm run model as ${account} (Drupal ${site.version})\n${lines.join('\n')}`)
        const model = contentModelFile(file)
        t.match(model, wanted)
        t.strictSame(Object.keys(model.bundles).toSorted(), of.bundles.toSorted())
        if (form && account === 'service') {
          t.match(Object.entries(model.fieldConfig), form, 'labels, help and groups in the order of the form')
        }
        // Drupal shows a form's configuration to who may administer it.
        if (account === 'editor') t.equal(model.fieldConfig, undefined)
        const http = createHttp({ url: site.url, timeoutMs: 60_000 })
        const advice: string[] = []
        const login = basicAccount({ http, jsonapiPath }, account, account)
        await report(checkCms({ ...at, http, account: login, model: contentModel(model) }), (line) => advice.push(line))
        await http.close()
        t.comment(`npm run doctor as ${account}\n${advice.join('\n')}`)
        t.strictSame(
          advice.filter((line) => line.startsWith('!') && !known.test(line)),
          [],
          'the doctor finds nothing wrong'
        )
        t.equal(advice.filter((line) => /^ok {3}core REST: Quoin shows edition/.test(line)).length, of.bundles.length, advice.join('\n'))
      }
      // By what the account sees that is shown least.
      const file = files.at(-1)!
      const [own] = Object.keys(of.prefixes)
      for (const [language, prefix] of Object.entries(of.prefixes)) {
        const service = await startBeside(of, site, file, prefix)
        for (const user of ['editor', 'reader']) {
          const [reads, visible] = await compareReads(of, site, service, user, prefix)
          record(`reads, ${user}`, language, reads)
          if (language === own) record(`lists, ${user}`, language, await compareLists(of, site, service, user, visible))
        }
        await service.close()
      }
      for (const [language, prefix] of Object.entries(of.prefixes)) {
        const service = await startBeside(of, twin, file, prefix)
        record('saves, editor', language, await compareSaves(of, [site, twin], service, [language, prefix]))
        await service.close()
      }
    }
  )
}

t.test('the table', (t) => {
  t.comment('| site | what | language | compared | differences | known |\n|---|---|---|---|---|---|')
  for (const { site, what, language, compared, differences, known } of rows) {
    t.comment(`| ${site} | ${what} | ${language} | ${compared} | ${differences} | ${known} |`)
  }
  t.end()
})
