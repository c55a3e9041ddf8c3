/**
 * The entity tags that an If-Match or an If-None-Match names, or `*`, which is any (RFC 9110
 * section 13.1).
 */
export function tagsIn(field: string): '*' | string[] {
  return field.trim() === '*' ? '*' : field.split(',').map((tag) => tag.trim())
}

/**
 * Whether an If-None-Match, if there is one, names this entity tag, by weak comparison (RFC 9110
 * section 13.1.2).
 */
export function matchesWeakly(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const tags = tagsIn(ifNoneMatch)
  return tags === '*' || tags.some((tag) => opaque(tag) === opaque(etag))
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
