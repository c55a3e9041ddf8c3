import type { FastifyInstance } from 'fastify'
import { startService } from './quoin.ts'
import { startRecipe, type RunningSite } from './site.ts'
import type { Recipe } from './variants.ts'

/** What php/nodes-content.php made. */
export interface NodesContent {
  /** User ids by name. */
  users: Record<string, number>
  /** Ids of articles and pages by their number, from 1; the last two are gone. */
  stories: Record<string, number>
  photos: number[]
  sections: number[]
  /** Ids of issues and supplements, in the order in which they were made. */
  editions: number[]
  /** Those that have a draft over what is published; the last one has it in English alone. */
  pending: number[]
  cases: Record<'bare' | 'odd' | 'twice' | 'many' | 'dangling' | 'hiddenTargets' | 'und' | 'translated' | 'archived', number>
}

export type NodesSite = RunningSite<NodesContent>

/** The prefixes of its languages in paths; Dutch is the default. */
export const nodesPrefixes: Record<string, string> = { nl: '', en: '/en', fr: '/fr' }

export const nodesJsonapiPath = '/cms/data'

/** A newsroom whose editions are nodes under moderation: bundles issue and supplement, beside article and page. */
export const nodes: Recipe = {
  id: 'nodes',
  names: { jsonapiPath: nodesJsonapiPath },
  structure: 'nodes-structure.php',
  content: 'nodes-content.php'
}

export function startNodes(workers?: number): Promise<NodesSite> {
  return startRecipe<NodesContent>(nodes, workers)
}

/** The service beside it. @param model the file of a content model @param prefix of the language that it asks in */
export function startNodesQuoin(
  { url }: NodesSite,
  model: string = new URL('content-model-nodes.json', import.meta.url).pathname,
  prefix = '',
  env: Record<string, string> = {}
): Promise<FastifyInstance> {
  return startService(url, { CMS_JSONAPI_PATH: prefix + nodesJsonapiPath, CONTENT_MODEL: model, ...env })
}
