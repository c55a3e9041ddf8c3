import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { contentModelSchema } from '../../dev/content-model-schema.ts'
import { contentModel } from '#lib/editions/model.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

t.test('the JSON Schema of the content model is the one that Quoin goes by', (t) => {
  t.equal(read('config/content-model.schema.json'), contentModelSchema(), 'run npm run content-model-schema')
  t.end()
})

t.test('editors and Quoin take the same files for right', (t) => {
  const isRight = new Ajv().compile(JSON.parse(contentModelSchema()))
  const files: object[] = [
    {},
    JSON.parse(read('config/content-model.json')),
    JSON.parse(read('test/drupal/content-model-renamed.json')),
    { $schema: 'content-model.schema.json', keys: { id: 'iid' }, languages: { de: '', fr: 'fr' }, fields: { editionType: null } }
  ]
  for (const file of files) {
    t.ok(isRight(file), JSON.stringify(isRight.errors))
    t.ok(contentModel(file))
  }
  for (const file of [{ entitytype: 'x' }, { keys: { id: 5 } }, { keys: { ID: 'id' } }, { lockIds: 'name' }, { languages: { de: '/' } }]) {
    t.notOk(isRight(file), JSON.stringify(file))
    t.throws(() => contentModel(file))
  }
  t.end()
})
