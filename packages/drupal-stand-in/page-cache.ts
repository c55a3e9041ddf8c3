import type { CmsAnswer, Incoming } from './jsonapi.ts'
import type { Site } from './site.ts'

/**
 * The headers of Drupal's page cache, if the site has a maximum age. Answers to requests without
 * credentials, also a 401, are public and have the second of their rendering as ETag. The answer is
 * 304 only if both conditions are sent and match. Answers to users who are logged in have none of
 * these headers.
 */
export function createPageCache(
  site: Site
): (answer: CmsAnswer, incoming: Incoming, url: string) => CmsAnswer {
  const renderTimes = new Map<string, number>()
  return (answer, { method, headers, caller }, url) => {
    if (method !== 'GET' && method !== 'HEAD') {
      renderTimes.clear()
      return answer
    }
    const { maxAge } = site.settings
    if (maxAge === 0 || !caller.challenged || answer.status >= 500) return answer
    const second = renderTimes.get(url) ?? Math.floor(site.now() / 1000)
    renderTimes.set(url, second)
    const [etag, modified] = [`"${second}"`, new Date(second * 1000).toUTCString()]
    const common = { 'cache-control': `max-age=${maxAge}, public`, vary: 'Cookie' }
    if (headers['if-none-match'] === etag && headers['if-modified-since'] === modified) {
      return { status: 304, headers: common }
    }
    return { ...answer, headers: { ...answer.headers, ...common, etag, 'last-modified': modified } }
  }
}
