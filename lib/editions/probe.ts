import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import { filterAdvice } from './site/filters.ts'

/** Asks the CMS for its JSON:API, and whether a caller may filter. */
export async function probeCms(
  { model, site: { catalog, cms, filters } }: EditionContext,
  caller: Caller
): Promise<string | undefined> {
  await cms.request({ path: '', caller })
  const { verdict } = await filters.findings(await catalog.editions(caller), caller)
  return filterAdvice(verdict, model.entityType)
}
