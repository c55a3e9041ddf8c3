/**
 * What plain HTTP looks like to TLS: its first letters are taken for a version (Node 24) or for a
 * length (Node 22).
 */
const PLAIN_HTTP = new Set<string | undefined>([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG'
])

/**
 * What TLS looks like to plain HTTP: the server closes the connection, or (Node 22) its alert is
 * read as an answer.
 */
const HTTPS = new Set<string | undefined>(['UND_ERR_SOCKET', 'HTTPParserError'])

/**
 * Explains to an operator why a connection failed. Two errors are hard to understand where a
 * setting has http:// instead of https://, or the other way round. Their codes are OpenSSL's (by
 * Node) and undici's.
 *
 * @param error of the transport
 */
export function transportReason({ name, message, code }: NodeJS.ErrnoException): string {
  if (PLAIN_HTTP.has(code)) {
    return 'the setting begins with https://, but plain HTTP is spoken at this port'
  }
  if (HTTPS.has(code ?? name)) {
    return `${message}; a port that speaks HTTPS does this when the setting begins with http://`
  }
  return message
}
