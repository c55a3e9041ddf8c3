import type { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { upstream, type Http } from '../http/client.ts'
import { callerOf, credentialCookies, fingerprint } from '../drupal/credentials.ts'
import { documentIn, isSameUuid, oneResource, userIn, type Document } from '../drupal/document.ts'
import { notJsonapi } from '../drupal/foreign.ts'
import { createRefusals, createRefusalTimes, type Refusals } from '../drupal/refusals.ts'
import { isUuid } from '../patterns.ts'
import {
  identityOf,
  lineOf,
  unauthenticatedFailure,
  unavailable,
  type Check,
  type Identity
} from './identity.ts'
import { remembering } from './remember.ts'
import { systemTime, type Time } from '../time.ts'

export interface DrupalOptions {
  http: Http
  /** Path of JSON:API below the address of the CMS, such as `/jsonapi`. */
  jsonapiPath: string
  /** Names of further cookies that are credentials. */
  cookieNames?: readonly string[]
  /**
   * Told of callers whom Drupal does not know; what else is refused to a caller makes Quoin ask
   * again.
   */
  refusals?: Refusals
  /** How many callers are remembered. */
  most?: number
  time?: Time
}

/**
 * Browsers answer a challenge of the scheme Basic with a dialogue of their own, over the page of an
 * editor whose session has just ended. There is no registered scheme for cookies. A browser leaves
 * an unknown scheme to the page.
 */
const CHALLENGE = 'Cookie realm="Drupal"'

const REFUSED_MS = 5000

/**
 * How long Quoin does not try a wrong password again. A page that polls with it would lock out its
 * user and, with 50 tries an hour, this service's address. Four in six hours are below Drupal's
 * limit of five. Source: Drupal\basic_auth\Authentication\Provider\BasicAuth (user.flood:
 * user_limit 5, user_window 21600).
 */
const REFUSED_PASSWORD_MS = 90 * 60_000

/**
 * Asks Drupal who the caller is, with the caller's own credentials: Authorization, or else the
 * session cookie. Drupal answers anybody 200, so only `meta.links.me` tells whether it knows them.
 */
export function drupalCheck(options: DrupalOptions): Check {
  const refusedMs = ({ headers: { authorization = '' } }: Caller) =>
    /^Basic /i.test(authorization) ? REFUSED_PASSWORD_MS : REFUSED_MS
  const { cookieNames = [], refusals = createRefusals(), time = systemTime } = options
  const refused = createRefusalTimes(refusals, time)
  const identities = remembering<Caller, Identity>({
    ...options,
    time,
    async ask(caller) {
      const identity = await ask(options, caller)
      if (!identity) refusals.tell(caller)
      return identity
    },
    isRefused: (caller, _identity, askedAt) => refused.last(caller) >= askedAt,
    keyOf: fingerprint,
    refusedMs
  })

  return async function check({ authorization, cookie }, requestId) {
    if (!authorization && !credentialCookies({ cookie }, cookieNames)) {
      throw unauthenticatedFailure(
        "The CMS's session cookie, or Authorization, is needed",
        CHALLENGE
      )
    }
    const identity = await identities(
      callerOf({ authorization, cookie }, requestId, true, cookieNames)
    )
    if (!identity) {
      throw unauthenticatedFailure('The CMS does not know these credentials', CHALLENGE)
    }
    return identity
  }
}

async function ask(
  { http, jsonapiPath }: DrupalOptions,
  caller: Caller
): Promise<Identity | undefined> {
  const entry = await read('')
  const uuid = entry && uuidIn(entry)
  if (uuid === undefined) return undefined
  const user = await read(
    `/user/user/${uuid}?fields%5Buser--user%5D=display_name%2Cdrupal_internal__uid`
  )
  const resource = user && oneResource(user)
  if (resource && !isSameUuid(resource.id, uuid)) {
    throw cannotSay(
      new Error(`the CMS was asked for user ${uuid} and answered with another resource`)
    )
  }
  const { drupal_internal__uid: uid, display_name: name } = resource?.attributes ?? {}
  const line = lineOf(uid)
  if (line === undefined) throw cannotSay(new Error('the CMS does not tell a user their own uid'))
  return identityOf(line, name)

  /**
   * A document of Drupal; undefined where it refuses the credentials. Sent once: a second try may
   * be one too many.
   */
  async function read(path: string): Promise<Document | undefined> {
    const answer = await http
      .send({ method: 'GET', path: jsonapiPath + path, headers: caller.headers })
      .catch((error: Failure) => {
        throw cannotSay(error, error.headers['retry-after'])
      })
    const { status, headers, body } = answer
    if (status === 401 || status === 403) return undefined
    const document = status === 200 ? documentIn(body) : undefined
    if (!document) {
      throw cannotSay(
        status >= 500 ? upstream(status, body) : notJsonapi(answer, caller.headers),
        headers['retry-after']
      )
    }
    return document
  }
}

/** @param retryAfter the Retry-After of the CMS, if any; passed on if it is a number of seconds */
function cannotSay(cause: Error, retryAfter?: string): Failure {
  return unavailable(
    'The CMS cannot say who calls; try again',
    cause,
    /^\d{1,9}$/.test(retryAfter ?? '') ? retryAfter : undefined
  )
}

function uuidIn(entry: Document): string | undefined {
  const user = userIn(entry)
  if (!user) return undefined
  const { id } = user
  if (typeof id !== 'string' || !isUuid(id)) {
    throw cannotSay(new Error('the CMS names the user by an id that is not a uuid'))
  }
  return id
}
