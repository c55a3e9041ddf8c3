import type { ContentModel } from '../../../lib/editions/model.ts'
import { listModel } from '../../../lib/editions/site/list-site.ts'
import { wrongArguments } from './arguments-check.ts'

/** A list of the content model, of what editions are made of. */
export interface ArticleList {
  name: string
  entityType: string
  /** What is known of its rows: they have no field configuration. */
  listModel: ContentModel
}

/**
 * @param name without one the first list
 * @throws {ToolRefusal} BAD_REQUEST with the names that there are
 */
export function listNamed(name: string | undefined, model: ContentModel): ArticleList {
  const names = Object.keys(model.lists)
  const chosen = name ?? names[0]
  if (chosen === undefined || !names.includes(chosen)) {
    throw wrongArguments([{ argument: 'list', problem: 'There is no such list', allowed: names }])
  }
  const list = model.lists[chosen]!
  return {
    name: chosen,
    entityType: list.entityType,
    listModel: { ...listModel(list, model), fieldConfig: {} }
  }
}
