import type { Jsonapi } from '../jsonapi/client.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import { identifiers } from '../jsonapi/document.ts'
import type { Catalog } from './catalog.ts'
import { refusal } from './failures.ts'
import { publicName, type ContentModel } from './model.ts'
import type { Resources } from './resources.ts'

/** The attributes that hold the label of what an edition may refer to: of nodes, of media and terms, of users. */
const LABELS = ['title', 'name', 'display_name']

export interface LabelsOptions {
  cms: Jsonapi
  catalog: Catalog
  resources: Resources
  model: ContentModel
}

/** What an edition's articles, and the other things that it refers to, are called; its own JSON does not say. */
export function createLabels ({ cms, catalog, resources, model }: LabelsOptions) {
  /**
   * Labels by uuid; those that the caller may not see are not among them.
   * @param id integer id or uuid of the edition
   * @throws {Failure} as `resources.load`
   */
  return async function labels (id: string, caller: Caller): Promise<Record<string, string>> {
    const { resource } = await resources.load(id, caller, 'bare')
    const fields = new Set([...model.fields.articles, ...Object.keys(model.references)])
    const names = [...fields].map((field) => publicName(model, field)).filter((name) => resource.relationships?.[name] !== undefined)
    const targets = names.flatMap((name) => identifiers(resource.relationships![name]))
    if (targets.length === 0) return {}
    const types = [...new Set(targets.map(({ type }) => type))]
    const { path } = (await catalog.editions(caller)).find(({ resourceType }) => resourceType === resource.type)!
    const answer = await cms.request({
      path: `${path}/${resource.id}`,
      query: [
        ['include', names.join(',')],
        ...types.map((type): [string, string] => [`fields[${type}]`, LABELS.join(',')]),
        [`fields[${resource.type}]`, names.join(',')]
      ],
      caller
    })
    if (answer.status >= 400) throw refusal(answer)
    return Object.fromEntries((answer.document.included ?? []).flatMap(({ id, attributes = {} }) => {
      const label = LABELS.map((name) => attributes[name]).find((value) => typeof value === 'string')
      return label === undefined ? [] : [[id, label]]
    }))
  }
}
