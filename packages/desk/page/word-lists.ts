import { isBlock, type Token } from './markup.ts'

/** How deep lists go. Word has nine levels. */
const DEEPEST = 9

/** Of how many parts, such as tags, a marker is. Word uses less than ten. */
const MARKER_PARTS = 30

/** What Word says of a paragraph that is an item: `mso-list:l0 level1 lfo1`. */
const ITEM = /mso-list:\s*l(\d+)\s+level(\d+)/i
/** What Word says of the bullet or number of an item, which is a text of its own. */
const MARKER = /mso-list:\s*ignore/i
const NUMBER = /^\W*(?:\d+|[a-z]{1,5})[.)]/i

/** What Word puts around markers: declarations of its own, which are no markup. */
const DECLARATION = /<!\[[^\]<>]*\]>/g

/** HTML of Word without its declarations, which would be taken for text. */
export function withoutDeclarations(html: string): string {
  return html.replaceAll(DECLARATION, '')
}

function styleOf(token: Token | undefined): string {
  const attributes = token?.kind === 'open' ? token.attributes : []
  return attributes.find(([name]) => name === 'style')?.[1] ?? ''
}

/**
 * Parts of HTML in which the paragraphs that Word means for items of lists are such items. Word
 * writes them as paragraphs that begin with a bullet or a number.
 */
export function withWordLists(tokens: Token[]): Token[] {
  const result: Token[] = []
  /** The lists that are open, the outermost first. */
  const lists: string[] = []
  let listId: string | undefined

  function leave(depth: number): void {
    while (lists.length > depth) result.push({ kind: 'close', name: lists.pop()!, raw: '' })
  }

  function enter(name: string): void {
    result.push({ kind: 'open', name, attributes: [], raw: '' })
  }

  function beginItem(id: string, level: number, name: string): void {
    leave(id === listId ? level : 0)
    if (lists.length === level && lists.at(-1) !== name) leave(level - 1)
    listId = id
    if (lists.length < Math.min(level, DEEPEST)) {
      lists.push(name)
      enter(name)
    }
    enter('li')
  }

  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!
    if (token.kind === 'open' && isBlock(token.name)) {
      const [, id, level] = ITEM.exec(styleOf(token)) ?? []
      if (id === undefined) leave(0)
      else beginItem(id, Math.max(1, Number(level)), listOf(markerFrom(tokens, at)))
    }
    if (MARKER.test(styleOf(token))) at = endOfMarker(tokens, at)
    else result.push(token)
  }
  leave(0)
  return result
}

/** The text of the marker that an item begins with. */
function markerFrom(tokens: Token[], item: number): string {
  const inside = tokens.slice(item + 1, item + 1 + MARKER_PARTS)
  const from = inside.findIndex((token) => MARKER.test(styleOf(token)))
  const end = inside.findIndex(
    (token) => (token.kind === 'close' || token.kind === 'open') && isBlock(token.name)
  )
  if (from < 0 || (end >= 0 && end < from)) return ''
  return inside
    .slice(from, endOfMarker(inside, from))
    .map((token) => (token.kind === 'text' ? token.raw : ''))
    .join('')
}

function listOf(marker: string): 'ol' | 'ul' {
  return NUMBER.test(marker.trim()) ? 'ol' : 'ul'
}

/** Where a marker ends: the last of its parts, or of those that are looked at. */
function endOfMarker(tokens: Token[], from: number): number {
  const { name } = tokens[from] as Token & { kind: 'open' }
  const parts = tokens.slice(from, from + MARKER_PARTS)
  let depth = 0
  const end = parts.findIndex((token) => {
    if (token.kind === 'open' && token.name === name) depth++
    if (token.kind === 'close' && token.name === name) depth--
    return depth === 0
  })
  return from + (end < 0 ? parts.length : end)
}
