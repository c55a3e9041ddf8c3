import { writeFileSync } from 'node:fs'
import { isObject } from '../lib/drupal/document.ts'
import { ContentModel } from '../lib/editions/model.ts'

const FILE = new URL('../config/content-model.schema.json', import.meta.url)

/** The JSON Schema of the content model, for editors to complete and to check the file with. */
export function contentModelSchema(): string {
  const { keys, fields, closing } = ContentModel.properties
  // What has a default may be left out.
  const optional = new Set<unknown>([ContentModel, keys, fields, closing])
  const schema = JSON.parse(
    JSON.stringify(ContentModel, (_name, value) => {
      if (!optional.has(value) || !isObject(value)) return value
      const { required: _required, ...rest } = value
      return rest
    })
  )
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', title: "Quoin's content model", ...schema }, null, 2)}\n`
}

// `npm run content-model-schema`
if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  writeFileSync(FILE, contentModelSchema())
}
