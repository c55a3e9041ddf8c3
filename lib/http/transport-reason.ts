/**
 * Says in words why a connection failed, for an operator. Two failures look like riddles when a setting has http:// for
 * https:// or the other way round; their codes are OpenSSL's (by Node) and undici's.
 *
 * @param error the transport's own
 */
export function transportReason ({ message, code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'the setting begins with https://, but plain HTTP is spoken at this port'
  if (code === 'UND_ERR_SOCKET') return `${message}; a port that speaks HTTPS does this when the setting begins with http://`
  return message
}
