const allowedTags = new Set([
  'a',
  'em',
  'strong',
  'cite',
  'blockquote',
  'code',
  'ul',
  'ol',
  'li',
  'dl',
  'dt',
  'dd',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'p',
  'br',
  'span',
  'img'
])

const escape = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#039;')

/**
 * What a text format makes of a value, simplified: basic_html drops the tags that it does not allow
 * (their content stays), full_html changes nothing, and text without a format is shown as plain
 * text in paragraphs.
 */
export function processedText(value: string, format: string | null): string {
  if (format === 'full_html') return value
  if (format === 'basic_html' || format === 'restricted_html') {
    return value.replace(/<\/?([a-z][a-z0-9]*)\b[^>]*>/gi, (tag, name: string) =>
      allowedTags.has(name.toLowerCase()) ? tag : ''
    )
  }
  const paragraphs = escape(value)
    .split(/\n\n+/)
    .map((part) => `<p>${part.replaceAll('\n', '<br />\n')}</p>\n`)
  return paragraphs.join('')
}
