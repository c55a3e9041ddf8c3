import type { IncomingHttpHeaders } from 'node:http'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** The values of Sec-Fetch-Site with which a request may change something. */
const TRUSTED_SITES = new Set(['same-origin', 'same-site', 'none'])

export interface RequestHead {
  method: string
  headers: IncomingHttpHeaders
}

/**
 * Whether a request that may change something was sent by a page of another site, with credentials
 * that the browser adds by itself: a cookie, a password typed into its own dialogue, or the login
 * of its user (Negotiate, NTLM). A Bearer token is added by pages alone. The browser says so in
 * Sec-Fetch-Site, which no page can set. Over plain HTTP the browser does not send it: then Origin
 * has to have this host. A request with neither does not come from a page.
 *
 * Other origins of the same site are trusted, as Drupal's own session cookie trusts them
 * (SameSite=Lax). Sources: W3C Fetch Metadata; OWASP Cross-Site Request Forgery Prevention, Fetch
 * Metadata headers.
 *
 * @param trustedOrigins origins whose pages may do it nevertheless, such as
 *   `https://desk.example.org`
 */
export function isCrossSite(
  { method, headers }: RequestHead,
  trustedOrigins: readonly string[] = []
): boolean {
  // HTTP/2 has the host in `:authority`, which comes before Host (RFC 9113 section 8.3.1).
  const {
    authorization,
    ':authority': host = headers.host,
    origin,
    'sec-fetch-site': site
  } = headers
  if (SAFE.has(method) || (authorization !== undefined && /^Bearer /i.test(authorization))) {
    return false
  }
  if (origin !== undefined && trustedOrigins.includes(origin)) return false
  if (site !== undefined) return !TRUSTED_SITES.has(String(site))
  return (
    origin !== undefined &&
    (hostOf(origin) === undefined || hostOf(origin) !== hostOf(`http://${host}`))
  )
}

/**
 * Whether a page may send this to another site without asking it first (W3C Fetch,
 * CORS-safelisted). CORS decides about all other requests.
 */
export function isSimple({ method, headers: { 'content-type': type } }: RequestHead): boolean {
  return (
    method === 'POST' &&
    (type === undefined ||
      /^\s*(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i.test(
        type
      ))
  )
}

/** The name of a host without its port, which cookies do not know (RFC 6265 section 8.5). */
function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).hostname : undefined
}
