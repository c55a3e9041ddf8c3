import type { Failure } from '../../../lib/errors.ts'
import { wrong, type Diagnosis } from '../diagnosis.ts'
import { transportReason } from '../../../lib/http/transport-reason.ts'
import { NOT_JSONAPI, SETTINGS, type ForeignError } from '../../../lib/drupal/foreign.ts'

/** What nginx and Apache say on a port for HTTPS to a request without TLS. */
const PLAIN_HTTP =
  /plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL-enabled/i

const CORRECT =
  "correct CMS_URL, CMS_JSONAPI_PATH and CONTENT_MODEL, and turn Drupal's module jsonapi on"

const HAND_ON =
  'have the web server hand on Authorization and cookies (Apache: CGIPassAuth On); for CMS_AUTH=oauth, give the client an active user at simple_oauth'

/** What an operator should do about a failure of the CMS. @param url the address of the CMS */
export function cmsAdvice({ code, message, cause }: Failure, url: string): Diagnosis {
  const reason = reasonOf(cause as NodeJS.ErrnoException | undefined)
  switch (code) {
    case 'CMS_UNREACHABLE':
      return wrong(
        `CMS: ${url} cannot be reached${reason}`,
        'correct CMS_URL, or check the network from here'
      )
    case 'CMS_TIMEOUT':
      return wrong(`CMS: ${message}`, 'see why it is slow, or raise CMS_TIMEOUT_MS')
    case 'CMS_UNAVAILABLE':
      return wrong(
        `CMS: it takes no requests at the moment${reason}`,
        'end its maintenance, or wait until it has less to do'
      )
    case 'CMS_FAILED':
      return wrong(`CMS: ${message}${reason}`, "Drupal's own log says why")
    case 'CMS_INVALID_RESPONSE':
      if (speaksHttps(cause as Partial<ForeignError> | undefined, url)) {
        return wrong(
          `CMS: HTTPS is spoken at ${url}, but CMS_URL begins with http://`,
          'write https:// in CMS_URL'
        )
      }
      if ((cause as NodeJS.ErrnoException | undefined)?.code === 'UND_ERR_HEADERS_OVERFLOW') {
        return wrong(`CMS: ${message}`)
      }
      return (
        foreignAnswer(cause as Partial<ForeignError> | undefined) ??
        wrong(`CMS: ${message}${reason}`, CORRECT)
      )
    case 'CMS_LOGIN_REFUSED':
      if ((cause as { isPassing?: boolean }).isPassing) {
        return wrong(`CMS account: ${(cause as Error).message}`, HAND_ON)
      }
      return wrong(
        `CMS account: ${(cause as Error).message}`,
        'correct the account; after five wrong tries Drupal refuses the right password too, for six hours'
      )
    case 'CMS_READ_ONLY':
      return wrong(
        "writing: Drupal's JSON:API accepts only read operations",
        'allow all operations at /admin/config/services/jsonapi (jsonapi.settings, read_only: false)'
      )
    case 'CMS_UNAUTHORIZED':
    case 'CMS_FORBIDDEN':
      return wrong(
        `CMS: access is denied (${message})`,
        'give those who use Quoin, or its service account, the permission'
      )
    default:
      return wrong(`CMS: ${message}`, "Drupal's own log says why")
  }
}

/** What an answer that is not JSON:API was, and what it said; undefined for other failures. */
function foreignAnswer(cause: Partial<ForeignError> | undefined): Diagnosis | undefined {
  if (cause?.what === undefined) return undefined
  const { what, advice, message } = cause
  return wrong(`CMS: ${NOT_JSONAPI}: ${what} (${message})`, advice === SETTINGS ? CORRECT : advice)
}

/**
 * Whether a web server asks for HTTPS where CMS_URL has http://: by its error page, or by a
 * redirect to the same host.
 */
function speaksHttps(cause: Partial<ForeignError> | undefined, url: string): boolean {
  if (!cause || !url.startsWith('http:')) return false
  return (
    PLAIN_HTTP.test(String(cause.message)) ||
    Boolean(cause.location?.startsWith(`https://${new URL(url).hostname}`))
  )
}

/**
 * Of what Drupal said the status alone, since its text may hold anything; of the network its own
 * words.
 */
function reasonOf(cause: NodeJS.ErrnoException | undefined): string {
  if (!cause) return ''
  const reason = /^the CMS answered (?:\d{3})?/.exec(cause.message)?.[0] ?? transportReason(cause)
  return ` (${reason})`
}
