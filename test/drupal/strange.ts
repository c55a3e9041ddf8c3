import type { FastifyInstance } from 'fastify'
import { startService } from './quoin.ts'
import { startRecipe, type RunningSite } from './site.ts'
import type { Recipe } from './variants.ts'
import { modelInstead } from './written.ts'

/** What php/gazette-content.php made. */
export interface StrangeContent {
  /** Node ids by the number of the article; the last one is gone. */
  articles: Record<string, number>
  gazettes: number
  leaflets: number
  cases: Record<'bare' | 'odd' | 'dangling' | 'hiddenTargets' | 'und', number>
}

export type StrangeSite = RunningSite<StrangeContent>

/** The prefixes of its languages in paths; German is the default. */
export const prefixes: Record<string, string> = { de: '', en: '/en', fr: '/france' }

export const jsonapiPath = '/dienst/daten'

/** A site that is modelled unlike the variants: module gazette. */
export const strange: Recipe = { id: 'strange', names: { jsonapiPath }, structure: 'gazette-structure.php', content: 'gazette-content.php' }

/** An entity type of editions on it, and how core REST names its paths. */
export interface StrangeType {
  entityType: string
  id: string
  label: string
  model: string
  count: (content: StrangeContent) => number
  path: (id: number | string) => string
}

export const gazette: StrangeType = {
  entityType: 'gazette',
  id: 'nr',
  label: 'headline',
  model: 'content-model-gazette.json',
  count: ({ gazettes }) => gazettes,
  path: (id) => `/gazettes/${id}/show`
}

export const leaflet: StrangeType = {
  entityType: 'leaflet',
  id: 'slip',
  label: 'caption',
  model: 'content-model-leaflet.json',
  count: ({ leaflets }) => leaflets,
  path: (id) => `/entity/leaflet/${id}`
}

export function startStrange(): Promise<StrangeSite> {
  return startRecipe<StrangeContent>(strange)
}

/** The service beside it, for one of its entity types. @param prefix of the language that it asks in */
export async function startStrangeQuoin(
  { url }: StrangeSite,
  { model, entityType }: StrangeType,
  prefix = '',
  env: Record<string, string> = {}
): Promise<FastifyInstance> {
  const written = await modelInstead(entityType, { url, jsonapiPath }, entityType)
  return startService(url, {
    CMS_JSONAPI_PATH: prefix + jsonapiPath,
    CONTENT_MODEL: written ?? new URL(model, import.meta.url).pathname,
    ...env
  })
}
