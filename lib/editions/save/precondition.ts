import type { Resource } from '../../drupal/document.ts'
import type { Site } from '../site/site.ts'

/**
 * The revision of a resource as a precondition of its PATCH. Drupal compares it within the save
 * where Quoin's module is there: it is exact, whatever the second and the language.
 * @returns undefined where the module is not known to be there, the caller is not shown the
 *   revision, or its id names several states
 */
export function revisionPrecondition(
  { cms, revisions }: Pick<Site, 'cms' | 'revisions'>,
  resource: Resource
): number | undefined {
  if (cms.module?.version() === undefined) return undefined
  const revision = revisions.idOf(resource)
  return revision === undefined || revisions.isReused(resource.id, revision) ? undefined : revision
}
