import t from 'tap'
import { core, quoin, signIn } from './quoin.ts'
import { gazette, leaflet, prefixes, startStrange, startStrangeQuoin } from './strange.ts'

/** On this site admin alone may filter. */
const users = ['admin', 'editor', 'reader']
const queries = {
  gazette: [
    '',
    'status=1',
    'status=0',
    'type=weekend',
    'type=weekday&status=1',
    'key=sheet/0007',
    'key=SHEET/0007',
    'q=sheet/0007',
    'q=ausgabe',
    'q=EDITION 1',
    'q=édition',
    'q=ÉDITION',
    'q=é',
    'q=%25',
    'q=_',
    'q=%26',
    'q=日本',
    'q=ünïcode',
    'q=edition 1, extra',
    'q=nothing has this',
    'q=ausgabe&status=1&type=weekend&limit=7&offset=3',
    'limit=13&offset=60'
  ],
  leaflet: [
    '',
    'type=flat',
    'key=mark-7',
    'key=MARK-7',
    'q=leaflet 1',
    'q=LEAFLET',
    'q=über',
    'q=ÖL',
    'q=%3Cb%3E',
    'q=mark-7',
    'q=leaflet&type=folded&limit=4&offset=2',
    'limit=11&offset=45'
  ]
}
const lists = { gazette: ['gazette', 'sheet', 'extra', 'weekend'], leaflet: ['leaflet', 'flat'] }

for (const type of [gazette, leaflet]) {
  t.test(
    `lists of ${type.entityType} on the strange site are the selections made from core REST's own entities`,
    { timeout: 900_000 },
    async (t) => {
      const site = await startStrange()
      t.teardown(site.stop)
      const name = type.entityType as 'gazette' | 'leaflet'
      const bundle = name === 'gazette' ? (edition: any) => edition.sort[0].target_id : () => 'leaflet'
      const [published, kind, key] = name === 'gazette' ? ['live', 'flavour', 'signature'] : ['none', 'type', 'mark']
      const value = (edition: any, field: string) => edition[field]?.[0]?.value
      let comparisons = 0
      for (const [language, prefix] of Object.entries(prefixes)) {
        if (language === 'en' || (language === 'fr' && type === leaflet)) continue
        const service = await startStrangeQuoin(site, type, prefix)
        t.teardown(() => service.close())
        for (const user of users) {
          const session = await signIn(site, user)
          const editions: any[] = []
          for (let id = type.count(site.content); id > 0; id--) {
            const { status, body } = await core(site, session, 'GET', prefix + type.path(id))
            if (status === 200) editions.push(body)
          }
          for (const list of lists[name]) {
            for (const query of queries[name]) {
              const {
                q,
                status,
                type: ofType,
                key: ofKey,
                limit = '500',
                offset = '0'
              } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>
              const wanted = editions.filter(
                (edition) =>
                  (list === name || bundle(edition) === list || value(edition, kind!) === list) &&
                  (q === undefined || value(edition, type.label).toLowerCase().includes(q.toLowerCase()) || value(edition, key!) === q) &&
                  (status === undefined || value(edition, published!) === (status === '1')) &&
                  (ofType === undefined || value(edition, kind!) === ofType) &&
                  (ofKey === undefined || value(edition, key!) === ofKey)
              )
              const { status: answered, body } = await quoin(
                service,
                session,
                'GET',
                `/api/collections/${list}?${new URLSearchParams({ limit, offset, total: '1', ...Object.fromEntries(new URLSearchParams(query)) })}`
              )
              comparisons++
              const page = wanted.slice(Number(offset), Number(offset) + Number(limit))
              t.strictSame(
                [answered, body.data?.map((edition: any) => value(edition, type.id)), body.meta?.total],
                [200, page.map((edition) => value(edition, type.id)), wanted.length],
                `${language}, ${user}: ${list}?${query}`
              )
            }
          }
        }
      }
      t.comment(`${type.entityType}: ${comparisons} lists`)
    }
  )
}
