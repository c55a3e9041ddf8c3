/**
 * Explains to an operator why a connection failed. Two errors are hard to understand where a setting has http:// instead of
 * https://, or the other way round. Their codes are OpenSSL's (by Node) and undici's.
 *
 * @param error of the transport
 */
export function transportReason ({ message, code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the setting begins with https://, but plain HTTP is spoken at this port'
  if (code === 'UND_ERR_SOCKET') return `${message}; a port that speaks HTTPS does this when the setting begins with http://`
  return message
}
