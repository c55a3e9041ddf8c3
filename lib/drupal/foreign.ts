import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { isJson, textOf, type HttpAnswer } from '../http/exchange.ts'
import { valueIn } from './document.ts'
import type { CallerHeaders } from '../http/calls.ts'

/** An answer that is not Drupal's: what it is, what to do about it, and what it said. */
export interface Foreign {
  /** For everybody: it names no host, and of a page the title alone. */
  what: string
  /** What an operator should do. */
  advice: string
  /** For the log and the doctor: the address of a redirect, or the beginning of the text. */
  said: string
}

/** The cause of a failure by an answer that is not JSON:API. */
export type ForeignError = Error &
  Pick<Foreign, 'what' | 'advice'> & { status: number; location: string | undefined }

/** How many bytes of an answer are looked at, and how many characters of it are repeated. */
const HEAD = 64 * 1024
const EXCERPT = 200
const TITLE = 100

export const NOT_JSONAPI = 'The CMS answered something that is not JSON:API'

export const SETTINGS = "are CMS_URL and CMS_JSONAPI_PATH right and is Drupal's module jsonapi on?"
const LOGIN = "a login stands before Drupal's JSON:API: let Quoin's requests through it"

/**
 * Words in the address of a login: Drupal's own, and those of OpenID Connect, SAML, AD FS and CAS.
 */
const LOGIN_ADDRESS =
  /\b(?:log-?in|sign-?in|sso|saml2?|openid-connect|oauth2?|oidc|adfs|cas|authorize)\b/i

/** The field of a password. */
const PASSWORD_FIELD = /\btype\s{0,9}=\s{0,9}["']?password\b/i

/**
 * Drupal's words for a host that trusted_host_patterns does not have, and Symfony's. Source:
 * Drupal\Core\DrupalKernel::initialize().
 */
const HOST_REFUSED = /host name is not valid for this server|Untrusted Host|Invalid Host/i

/** No credentials are shorter. A shorter text would be found in any page. */
const SHORTEST_SECRET = 4

/**
 * The failure of a request that was not answered with JSON:API.
 * @param sent the header fields of the request
 */
export function notJsonapi(answer: HttpAnswer, sent: CallerHeaders): Failure {
  const { what, advice, said } = foreign(answer, secretsIn(sent))
  const {
    status,
    headers: { location }
  } = answer
  const cause: ForeignError = Object.assign(new Error(`the CMS answered ${status}: ${said}`), {
    status,
    what,
    advice,
    location
  })
  return new Failure('CMS_INVALID_RESPONSE', `${NOT_JSONAPI}: ${what}; ${advice}`, { cause })
}

/**
 * Names an answer that is not Drupal's.
 * @param secrets what must not be repeated: an answer that has one of them is not quoted
 */
export function foreign(answer: HttpAnswer, secrets: readonly string[]): Foreign {
  const { status, headers, body } = answer
  const head = textOf(body.subarray(0, HEAD))
  const isEcho = secrets.some((secret) => head.includes(secret))
  const title = isEcho ? undefined : titleIn(head)
  const said = isEcho
    ? `${body.length} bytes, which repeat credentials`
    : (title ?? excerptOf(answer, head))
  const quoted = title === undefined ? '' : `, ${JSON.stringify(title.slice(0, TITLE))}`

  if (status >= 300 && status < 400) return redirect(status, headers.location)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity') {
    return {
      what: `a body in the content coding ${nameOf(coding)} (status ${status})`,
      advice:
        'Quoin asks for none (Accept-Encoding: identity): let the proxy before Drupal heed it',
      said: `content coding ${coding}, ${body.length} bytes`
    }
  }
  if (status === 421 || (status === 400 && HOST_REFUSED.test(head))) {
    return {
      what: `a refusal of the host in CMS_URL (status ${status})`,
      advice: 'correct CMS_URL, or name its host in trusted_host_patterns in settings.php',
      said
    }
  }
  const type = mediaType(headers)
  if (type.includes('html') || /^\s*<(?:!doctype|html)/i.test(head)) {
    const isLogin = PASSWORD_FIELD.test(head)
    return {
      what: `${isLogin ? 'a login page' : 'a page of HTML'} (status ${status}${quoted})`,
      advice: isLogin ? LOGIN : SETTINGS,
      said
    }
  }
  if (body.length === 0) {
    return { what: `nothing (status ${status})`, advice: SETTINGS, said: 'no bytes' }
  }
  if (!isJson(headers)) {
    return {
      what: `${type === '' ? 'a body without a media type' : `a body of the type ${nameOf(type)}`} (status ${status})`,
      advice: SETTINGS,
      said
    }
  }
  return foreignJson(status, body, said)
}

function foreignJson(status: number, body: Buffer, said: string): Foreign {
  if (!isUtf8(body)) {
    return {
      what: `JSON that is not UTF-8 (status ${status})`,
      advice: 'a text in Drupal has bytes of another encoding: the log has the place in the answer',
      said: `not UTF-8 from byte ${firstOddByte(body)} of ${body.length} on`
    }
  }
  if (valueIn(body) === undefined) {
    return {
      what: `JSON that is broken (status ${status})`,
      advice: "something writes into it, or it breaks off: see the log of Drupal's web server",
      said
    }
  }
  return { what: `JSON of another form (status ${status})`, advice: SETTINGS, said }
}

function redirect(status: number, location: string | undefined): Foreign {
  const url = location === undefined ? null : URL.parse(location, NOWHERE)
  if (!url) {
    return { what: `status ${status} without an address`, advice: SETTINGS, said: 'no address' }
  }
  const { origin, protocol, pathname } = url
  const path = pathname.slice(0, EXCERPT)
  const isElsewhere = origin !== NOWHERE
  const address = isElsewhere ? `${origin}${path}` : path
  return {
    // Where to within the network is the operator's business.
    what: `a redirect (status ${status}) to ${isElsewhere ? `${protocol}//…` : ''}${path}`,
    advice: LOGIN_ADDRESS.test(address)
      ? LOGIN
      : 'correct CMS_URL or CMS_JSONAPI_PATH, so that they name the address to which it redirects',
    said: `a redirect to ${address}`
  }
}

/** What relative addresses are resolved against. */
const NOWHERE = 'http://nowhere.invalid'

/** What of a request's header fields nobody may read in an answer or a log. */
export function secretsIn(sent: {
  authorization?: string
  cookie?: string
  'x-csrf-token'?: string
}): string[] {
  const { authorization = '', cookie = '', 'x-csrf-token': token = '' } = sent
  const [, credentials = ''] = authorization.split(' ')
  const [, ...password] = Buffer.from(credentials, 'base64').toString().split(':')
  const cookies = cookie.split(/; */).map((pair) => pair.slice(pair.indexOf('=') + 1))
  return [credentials, password.join(':'), token, ...cookies].filter(
    ({ length }) => length >= SHORTEST_SECRET
  )
}

/** The title of a page, or of the first error of a document. */
function titleIn(head: string): string | undefined {
  const [, title = ''] =
    /(?:<title[^>]{0,100}>|"errors":\s{0,9}\[\s{0,9}\{\s{0,9}"title":\s{0,9}")([^<"]{1,200})/i.exec(
      head
    ) ?? []
  return plain(title) || undefined
}

/** The beginning of a text or a page. JSON may have anything in it. */
function excerptOf({ headers, body }: HttpAnswer, head: string): string {
  const isText = mediaType(headers).startsWith('text/')
  const text = isText
    ? plain(head.slice(0, EXCERPT * 10).replace(/<[^>]{0,500}>/g, ' ')).slice(0, EXCERPT)
    : ''
  return text || `${body.length} bytes`
}

function plain(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

function mediaType({ 'content-type': type = '' }: HttpAnswer['headers']): string {
  return type.split(';', 1)[0]!.trim().toLowerCase()
}

/** A name that comes from elsewhere, without what a name does not have (RFC 9110 section 5.6.2). */
function nameOf(text: string): string {
  return text.replace(/[^\w.+/*-]+/g, ' ').slice(0, TITLE)
}

/** Where the first byte is that is not UTF-8: it decodes to U+FFFD, and was not one before. */
function firstOddByte(body: Buffer): number {
  const text = body.toString()
  let start = text.indexOf('\uFFFD')
  let offset = Buffer.byteLength(text.slice(0, start))
  while (isReplacement(body, offset)) {
    const next = text.indexOf('\uFFFD', start + 1)
    offset += Buffer.byteLength(text.slice(start, next))
    start = next
  }
  return offset
}

function isReplacement(body: Buffer, offset: number): boolean {
  return body.toString('latin1', offset, offset + 3) === '\u00EF\u00BF\u00BD'
}
