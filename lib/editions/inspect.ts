import type { Resource } from '../drupal/document.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import { load, rethrowRefusal } from './load.ts'
import type { PlacedArticle } from './lookup/contents.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { etagOf } from './translate/etag.ts'
import type { Parameters } from './translate/query.ts'
import { read } from './translate/read.ts'

/** An edition and the state of its articles, as they are at the moment. */
export interface Inspection {
  edition: EditionJson
  /** Names the state of its fields. */
  etag: string
  articles: PlacedArticle[]
}

export async function inspectEdition(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<Inspection> {
  const { resource } = await load(context, id, caller, 'bare')
  const { inspection } = await inspectResource(context, resource, caller)
  return inspection
}

/**
 * Reads an edition again, with the state of its articles.
 * @param version names the version to read; Drupal's default version without it
 */
export async function inspectResource(
  context: EditionContext,
  edition: Resource,
  caller: Caller,
  version?: Parameters
): Promise<{ resource: Resource; inspection: Inspection }> {
  const { model } = context
  const { resource, articles } = await context
    .contents(edition, caller, version)
    .catch((error) => rethrowRefusal(context, error, caller, edition.id))
  return {
    resource,
    inspection: { edition: read(resource, model), etag: etagOf(resource, model), articles }
  }
}
