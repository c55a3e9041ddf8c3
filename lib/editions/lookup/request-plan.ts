import type { JsonapiAnswer } from '../../drupal/client.ts'
import type { Caller } from '../../http/calls.ts'
import { internalName } from '../model.ts'
import type { KnownTargets } from '../site/targets.ts'
import { notIncludable } from '../translate/failures.ts'
import type { Parameters } from '../translate/query.ts'
import { includeFor, type Include, type Scope } from './include.ts'
import type { Purpose, ResourceContext } from './resource-context.ts'
import { isTooLong } from './room.ts'

/** Where editions of one collection are read. */
export interface RequestTarget {
  path: string
  query: Parameters
  caller: Caller
}

/** A read of editions of one collection. */
export interface ResourceQuestion extends RequestTarget {
  resourceType: string
  purpose: Purpose | 'page'
}

/** How a question is put to the CMS. */
export interface RequestPlan {
  /** The resource type that the answer is expected to have. */
  resourceType: string
  include: Include
  /** The targets that the caller was shown before. */
  ownTargets: KnownTargets
  /** The page of a list that the answer is, if it is one. */
  page: string | undefined
}

/** The purposes of reads without urls. */
const BARE: ReadonlyArray<ResourceQuestion['purpose']> = ['bare', 'anew', 'latest']

/** Whether a read wants no urls. */
export function isBare({ purpose }: ResourceQuestion): boolean {
  return BARE.includes(purpose)
}

/**
 * Plans to include all targets that the caller has not been shown yet. Users are left out as soon
 * as anything is known: Drupal caches no answer that includes them. For the same reason a page that
 * was read before includes nothing.
 */
export async function planRequest(
  context: ResourceContext,
  question: ResourceQuestion,
  resourceType: string
): Promise<RequestPlan> {
  const { shapes, catalog, targets, room } = context
  const { path, query, caller, purpose } = question
  const ownTargets = targets.of(caller)
  const page = purpose === 'page' ? `${path}?${query.join('&')}` : undefined
  const isComplete = isBare(question) || (page !== undefined && ownTargets.pages.has(page))
  const include = includeFor(context, {
    shape: shapes.of(resourceType),
    collections: await catalog.all(caller),
    scope: isComplete ? 'none' : scopeBeside(ownTargets),
    room: room.beside(path, query)
  })
  return { resourceType, include, ownTargets, page }
}

/** What to include beside the targets that a caller was shown before. */
function scopeBeside({ targets }: KnownTargets): Scope {
  return targets.size === 0 ? 'all' : 'all but users'
}

/** The query that names the latest revision, published or not. */
export const WORKING_COPY: Parameters = [['resourceVersion', 'rel:working-copy']]

/**
 * The query that names the latest version of editions of a type; empty for one without revisions.
 */
export function latestVersion(
  { shapes, model }: ResourceContext,
  resourceType: string
): Parameters {
  const hasRevisions = shapes.of(resourceType)?.has(String(model.keys.revision)) === true
  return hasRevisions ? [['resourceVersion', 'rel:latest-version']] : []
}

/**
 * Shortens later URLs, and forgets fields that may be gone, where a URL was too long.
 * @returns whether it was, and the request can be sent again with a shorter one
 */
export function shortenUrls(
  { room, shapes }: ResourceContext,
  outcome: JsonapiAnswer | Error,
  resourceType: string
): boolean {
  if (!isTooLong(outcome) || !room.shorten()) return false
  shapes.forget(resourceType)
  return true
}

/**
 * Takes a relationship out of all later plans, where Drupal does not include it.
 * @returns whether the answer fails because of that
 */
export function excludeRelationship(
  { shapes, model }: ResourceContext,
  answer: JsonapiAnswer,
  { resourceType, include }: Pick<RequestPlan, 'resourceType' | 'include'>
): boolean {
  const name = notIncludable(answer)
  if (name === undefined || !include.included.includes(name)) return false
  shapes.exclude(resourceType, internalName(model, name))
  return true
}

/**
 * Takes in what a refusal says of the plan.
 * @param attempt how many requests came before
 * @returns whether the plan was wrong, and another one may do
 */
export function correctPlan(
  context: ResourceContext,
  plan: RequestPlan,
  answer: JsonapiAnswer,
  attempt: number
): boolean {
  const { shapes } = context
  const { resourceType, include } = plan
  if (excludeRelationship(context, answer, plan)) {
    // Drupal names one such field at a time. The others may be gone too.
    if (attempt > 0) shapes.keepExcluded(resourceType)
    return true
  }
  if (answer.status !== 400 || include.query.length === 0 || attempt > 0) return false
  shapes.forget(resourceType)
  return true
}
