import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/env.ts'
import { createQuestions, type Questions } from '../../lib/access/questions.ts'
import type { Refusals } from '../../lib/drupal/refusals.ts'
import { changeLine, createBreaker } from '../../lib/http/breaker.ts'
import { createHttp, type Http } from '../../lib/http/client.ts'

/**
 * A way to the CMS of its own, with a circuit breaker of its own, to ask who may see and edit.
 * @param asker how the log names who asks
 */
export function openQuestions(
  fastify: FastifyInstance,
  { cms: { url, timeoutMs, jsonapiPath }, contentModel: model }: Config,
  { asker, refusals }: { asker: string; refusals: Refusals }
): { http: Http; questions: Questions } {
  const breaker = createBreaker({
    onChange: (...change) => fastify.log.warn(`${asker}: ${changeLine(...change)}`)
  })
  const http = createHttp({ url, timeoutMs, breaker, observe: fastify.observe })
  fastify.addHook('onClose', () => http.close())
  const questions = createQuestions({
    http,
    jsonapiPath,
    model,
    cmsUrl: url,
    warn: fastify.log.warn.bind(fastify.log),
    onRefusal: refusals.tell
  })
  return { http, questions }
}
