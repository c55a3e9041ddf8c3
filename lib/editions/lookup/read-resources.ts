import type { JsonapiAnswer } from '../../drupal/client.ts'
import { primaryData } from '../../drupal/document.ts'
import { restAfter } from '../../slices.ts'
import { PAGE_MAX } from '../translate/query.ts'
import type { UrlOf } from '../translate/read.ts'
import { learnDocument, learnShapes } from './learn.ts'
import {
  correctPlan,
  isBare,
  latestVersion,
  planRequest,
  shortenUrls,
  type RequestPlan,
  WORKING_COPY,
  type ResourceQuestion
} from './request-plan.ts'
import type { ResourceContext } from './resource-context.ts'
import type { Parameters } from '../translate/query.ts'

/** An answer, with the urls of its references if they are wanted. */
export type ResourceAnswer = JsonapiAnswer & { urlOf?: UrlOf }

/** The purposes of reads that take no part in one that began before. */
const FRESH: ReadonlyArray<ResourceQuestion['purpose']> = ['anew', 'latest', 'draft']

/**
 * Reads editions, with the urls of their references where they are wanted. Asks again where the
 * answer shows that the plan was wrong.
 * @param resourceType the type that the answer is expected to have
 * @param attempt how many requests came before
 */
export async function readResources(
  context: ResourceContext,
  question: ResourceQuestion,
  resourceType = question.resourceType,
  attempt = 0
): Promise<ResourceAnswer> {
  const plan = await planRequest(context, question, resourceType)
  const { include, ownTargets } = plan
  const answer = await ask(context, question, plan)
  if (include.query.length > 0 && shortenUrls(context, answer, resourceType)) {
    return readResources(context, question, resourceType, attempt + 1)
  }
  if (answer instanceof Error) throw answer
  const areTargetsKnown = answer.status < 300 && ownTargets.documents.has(answer.document)
  if (areTargetsKnown && !isBare(question)) return { ...answer, urlOf: ownTargets.urlOf }
  if (correctPlan(context, plan, answer, attempt)) {
    return readResources(context, question, resourceType, attempt + 1)
  }
  await context.times.learn(primaryData(answer.document).slice(0, PAGE_MAX), question.caller)
  if (isBare(question)) {
    learnShapes(context, answer.document)
    return answer
  }
  const otherType = await learnDocument(context, question, plan, answer.document, attempt > 1)
  await restAfter(answer.bytes)
  return otherType === undefined
    ? { ...answer, urlOf: ownTargets.urlOf }
    : readResources(context, question, otherType, attempt + 1)
}

/** The query that names the version that a read is for. */
function versionFor(
  context: ResourceContext,
  purpose: ResourceQuestion['purpose'],
  resourceType: string
): Parameters {
  if (purpose === 'draft') return WORKING_COPY
  return purpose === 'latest' ? latestVersion(context, resourceType) : []
}

/** Sends a question as planned. @returns the answer, or the failure that it became */
function ask(
  context: ResourceContext,
  { path, query, caller, purpose }: ResourceQuestion,
  { resourceType, include }: RequestPlan
): Promise<JsonapiAnswer | Error> {
  const version = versionFor(context, purpose, resourceType)
  return context.cms
    .request({
      path,
      query: [...query, ...include.query, ...version],
      caller,
      isFresh: FRESH.includes(purpose)
    })
    .catch((error: unknown) => error as Error)
}
