import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

/**
 * What every answer tells a browser: to load nothing for it, show it in no frame, take its media type as it is and name
 * no referrer; and what tells every cache to keep nothing, since answers hold users' texts. A route that wants to be
 * asked again with If-None-Match says so itself. Source: OWASP, REST Security Cheat Sheet.
 *
 * No Strict-Transport-Security: Quoin speaks plain HTTP, where browsers ignore it (RFC 6797 section 8.1), and whether
 * the whole host is to be HTTPS is for whoever ends TLS in front of it to say.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  ...headersOf(helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: false,
    // These are for documents, or for browsers long gone.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false
  })),
  'cache-control': 'private, no-store'
}

/** What answers with a page say besides their content security policy: no window of another origin gets a handle on theirs. Source: WHATWG HTML, section 7.1.3. */
export const OF_PAGES = { 'cross-origin-opener-policy': 'same-origin' }

/** What helmet sets: the same for every answer, so it is asked once. */
function headersOf (middleware: ReturnType<typeof helmet>): Record<string, string> {
  const headers: Record<string, string> = {}
  const response = {
    setHeader (name: string, value: string) { headers[name.toLowerCase()] = value },
    removeHeader () {}
  }
  middleware({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return headers
}
