/** Whether an If-None-Match names what has this entity tag: by weak comparison (RFC 9110 section 13.1.2). */
export function isKnown (ifNoneMatch: string, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))
}
