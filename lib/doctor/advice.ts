import type { Failure } from '../errors.ts'
import { wrong, type Diagnosis } from '../findings.ts'
import { transportReason } from '../http/transport-reason.ts'

/** What nginx and Apache say on a port for HTTPS to a request without TLS. */
const PLAIN_HTTP = /plain HTTP request was sent to HTTPS port|speaking plain HTTP to an SSL-enabled/i

/** What an operator should do about a failure of the CMS. @param url the address of the CMS */
export function cmsAdvice ({ code, message, cause }: Failure, url: string): Diagnosis {
  const reason = reasonOf(cause as NodeJS.ErrnoException | undefined)
  switch (code) {
    case 'CMS_UNREACHABLE':
      return wrong(`CMS: ${url} cannot be reached${reason}`, 'correct CMS_URL, or check the network from here')
    case 'CMS_TIMEOUT':
      return wrong(`CMS: ${message}`, 'see why it is slow, or raise CMS_TIMEOUT_MS')
    case 'CMS_UNAVAILABLE':
      return wrong(`CMS: it takes no requests at the moment${reason}`, 'end its maintenance, or wait until it has less to do')
    case 'CMS_FAILED':
      return wrong(`CMS: ${message}${reason}`, "Drupal's own log says why")
    case 'CMS_INVALID_RESPONSE':
      if (speaksHttps(cause as CmsAnswerError | undefined, url)) return wrong(`CMS: HTTPS is spoken at ${url}, but CMS_URL begins with http://`, 'write https:// in CMS_URL')
      return wrong(`CMS: ${message}${reason}`, "correct CMS_URL, CMS_JSONAPI_PATH and CONTENT_MODEL, and turn Drupal's module jsonapi on")
    case 'CMS_LOGIN_REFUSED':
      return wrong(`CMS account: ${(cause as Error).message}`, 'correct the account; after five wrong tries Drupal refuses the right password too, for six hours')
    case 'CMS_READ_ONLY':
      return wrong("writing: Drupal's JSON:API accepts only read operations", 'allow all operations at /admin/config/services/jsonapi (jsonapi.settings, read_only: false)')
    case 'CMS_UNAUTHORIZED':
    case 'CMS_FORBIDDEN':
      return wrong(`CMS: access is denied (${message})`, 'give those who use Quoin, or its service account, the permission')
    default:
      return wrong(`CMS: ${message}`, "Drupal's own log says why")
  }
}

/** An answer of the CMS, as the cause of a failure. */
type CmsAnswerError = Error & { location?: string | undefined }

/** Whether a web server asks for HTTPS where CMS_URL has http://: by its error page, or by a redirect to the same host. */
function speaksHttps (cause: CmsAnswerError | undefined, url: string): boolean {
  if (!cause || !url.startsWith('http:')) return false
  return PLAIN_HTTP.test(cause.message) || Boolean(cause.location?.startsWith(`https://${new URL(url).hostname}`))
}

/** Of what Drupal said the status alone, since its text may hold anything; of the network its own words. */
function reasonOf (cause: NodeJS.ErrnoException | undefined): string {
  if (!cause) return ''
  const reason = /^the CMS answered (?:\d{3})?/.exec(cause.message)?.[0] ?? transportReason(cause)
  return ` (${reason})`
}
