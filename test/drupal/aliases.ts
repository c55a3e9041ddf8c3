import type { TellsAlias } from './compare.ts'
import type { Site } from './site.ts'

/** JSON:API of the site itself, without Quoin. */
export async function jsonapi(site: Site, session: Record<string, string>, path: string): Promise<{ status: number; body: any }> {
  const response = await fetch(`${site.url}${site.names.jsonapiPath}${path}`, { headers: session })
  return { status: response.status, body: await response.json() }
}

/** Asks the site itself whether it shows a caller the alias of an entity. */
export function aliasesTold(site: Site, session: Record<string, string>): TellsAlias {
  const bundles: Record<string, string> = { node: site.names.article, taxonomy_term: site.names.sections, user: 'user' }
  const told = new Map<string, Promise<boolean>>()
  return (entityType, uuid) => {
    const path = `/${entityType}/${bundles[entityType]}/${uuid}`
    const answer =
      told.get(path) ?? jsonapi(site, session, path).then(({ status, body }) => status === 200 && body.data.attributes.path !== undefined)
    told.set(path, answer)
    return answer
  }
}
