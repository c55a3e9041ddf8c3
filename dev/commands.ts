import type { ContentModel } from '../lib/editions/model.ts'

const EXAMPLE_IDS = { id: '1', uuid: 'ceea8601-33e7-4005-8409-18a46e1916e1' }

/** What to try first, in the names of the site. */
export function commands(
  address: string,
  { entityType, keys, fields, bundles, lockTypes, lockIds }: ContentModel
): string[] {
  const type = lockTypes[entityType] ?? entityType
  const fieldName = keys.label ?? fields.key ?? fields.articles[0] ?? keys.id
  const lists = [entityType, ...Object.keys(bundles ?? {}).slice(0, 1)]
  return [
    `curl -X POST ${address}/api/cloud/data-state/${type}/${EXAMPLE_IDS[lockIds]} -H 'content-type: application/json' -d '{"fieldName":"${fieldName}","userData":{"uid":"7","name":"Anna"},"payload":"A headline"}'`,
    ...[...new Set(lists)].map((list) => `curl '${address}/api/collections/${list}?limit=2'`)
  ]
}
