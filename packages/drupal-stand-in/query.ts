/**
 * A query string as PHP reads it: brackets nest, `[]` appends, and every list is a map with numeric
 * keys.
 */
export interface PhpQuery {
  [key: string]: string | PhpQuery
}

const decode = (text: string) => {
  const withSpaces = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(withSpaces)
  } catch {
    return withSpaces
  }
}

function place(target: PhpQuery, keys: string[], value: string): void {
  const key = keys[0] === '' ? String(Object.keys(target).length) : keys[0]!
  if (keys.length === 1) {
    target[key] = value
    return
  }
  let inner = target[key]
  if (typeof inner !== 'object') inner = target[key] = {}
  place(inner, keys.slice(1), value)
}

/** Reads a query string (without its question mark) by the rules of PHP's parse_str. */
export function parseQuery(text: string): PhpQuery {
  const query: PhpQuery = {}
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    const value = at < 0 ? '' : decode(pair.slice(at + 1))
    const head = /^[^[]+/.exec(name)?.[0]
    if (head === undefined) continue
    const brackets = [...name.slice(head.length).matchAll(/\[([^\]]*)\]/g)].map(
      (match) => match[1]!
    )
    place(query, [head, ...brackets], value)
  }
  return query
}

const encode = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  )

/** Writes a query string as PHP's http_build_query does (RFC 3986), in the order of the keys. */
export function buildQuery(query: PhpQuery): string {
  const pairs: string[] = []
  const walk = (value: string | PhpQuery, name: string): void => {
    if (typeof value === 'string') pairs.push(`${encode(name)}=${encode(value)}`)
    else {
      for (const key of Object.keys(value)) walk(value[key]!, name === '' ? key : `${name}[${key}]`)
    }
  }
  walk(query, '')
  return pairs.join('&')
}

/**
 * The URL with its top-level parameters sorted by name: how Drupal writes the address of the
 * request itself.
 */
export function sortedUrl(url: string, query: PhpQuery): string {
  const keys = Object.keys(query).sort()
  return withQuery(url, Object.fromEntries(keys.map((key) => [key, query[key]!])))
}

/** The URL with that query, or alone when the query is empty. */
export function withQuery(url: string, query: PhpQuery): string {
  const text = buildQuery(query)
  return text === '' ? url : `${url}?${text}`
}
