/** Where a bearer token is kept: by the tab alone, until it is closed. */
export const TOKEN = 'quoin-token'

export function tokenOfTab (): string | null {
  return sessionStorage.getItem(TOKEN)
}

export function bearer (token: string | null): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {}
}
