/**
 * What every answer tells a browser: to load nothing for it, show it in no frame, take its media
 * type as it is and name no referrer; and what tells every cache to keep nothing, since answers
 * hold users' texts. A route that wants to be asked again with If-None-Match says so itself.
 * Source: OWASP, REST Security Cheat Sheet.
 *
 * No Strict-Transport-Security: Quoin speaks plain HTTP, where browsers ignore it (RFC 6797 section
 * 8.1), and whether the whole host is to be HTTPS is for whoever ends TLS in front of it to say.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'private, no-store'
}

/**
 * What answers with a page say besides their content security policy: no window of another origin
 * gets a handle on theirs. Source: WHATWG HTML, section 7.1.3.
 */
export const OF_PAGES = { 'cross-origin-opener-policy': 'same-origin' }
