import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import { standalone } from '../../app.ts'
import { readConfig } from '../../config/env.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { answer } from '../../plugins/app/errors.ts'
import type { Site } from './site.ts'
import { modelInstead } from './written.ts'

/** The service beside a site, spoken to without a socket. */
export async function startQuoin(site: Site, env: Record<string, string> = {}): Promise<FastifyInstance> {
  const {
    url,
    names: { entityType, jsonapiPath, bundles }
  } = site
  const written = await modelInstead(`${entityType} ${bundles.length}`, { url, jsonapiPath }, entityType)
  return startService(url, {
    CMS_JSONAPI_PATH: jsonapiPath,
    ...(entityType !== 'publisher_container' && { CONTENT_MODEL: new URL('content-model-renamed.json', import.meta.url).pathname }),
    ...(written !== undefined && { CONTENT_MODEL: written }),
    ...env
  })
}

/** The service before a CMS, with these settings beside those of the tests. */
export async function startService(url: string, env: Record<string, string>): Promise<FastifyInstance> {
  const quoin = Fastify({ ...fastifyOptions, logger: false, frameworkErrors: answer })
  await quoin.register(standalone, {
    config: readConfig({
      ENVIRONMENT: 'test',
      DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
      CMS_URL: url,
      CMS_TIMEOUT_MS: '60000',
      ...env
    })
  })
  await quoin.ready()
  return quoin
}

/** Credentials of a test user, whose password is the name; nothing for anonymous. */
export function as(user: string): Record<string, string> {
  return user === 'anonymous' ? {} : { authorization: `Basic ${Buffer.from(`${user}:${user}`).toString('base64')}` }
}

/** Credentials of a session of its own: what costs Drupal no password check at each request. */
export async function signIn(site: Pick<Site, 'url'>, user: string): Promise<Record<string, string>> {
  if (user === 'anonymous') return {}
  const response = await fetch(`${site.url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: user, pass: user })
  })
  const { csrf_token: token } = (await response.json()) as { csrf_token: string }
  return { cookie: response.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': token }
}

export interface Answer {
  status: number
  body: any
  headers: Headers | Record<string, unknown>
}

/** Who asks: a test user with Basic credentials, or the credentials. */
export type Who = string | Record<string, string>

/** One request to core REST. */
export async function core(site: Pick<Site, 'url'>, who: Who, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${site.url}${path}${path.includes('?') ? '&' : '?'}_format=json`, {
    method,
    redirect: 'manual',
    headers: { ...headersOf(who), ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: parse(text), headers: response.headers }
}

/** One request to Quoin. */
export async function quoin(
  service: FastifyInstance,
  who: Who,
  method: 'GET' | 'POST' | 'PUT',
  url: string,
  body?: unknown,
  headers: Record<string, string> = {}
): Promise<Answer> {
  const response = await service.inject({
    method,
    url,
    headers: { ...headersOf(who), ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) })
  })
  return { status: response.statusCode, body: parse(response.body), headers: response.headers }
}

function headersOf(who: Who): Record<string, string> {
  return typeof who === 'string' ? as(who) : who
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The names of a variant's content model file, for checks that speak of fields. */
export function contentModelFile(name: string): any {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))
}
