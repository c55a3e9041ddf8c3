import { Schema, type DOMOutputSpec, type Node } from 'prosemirror-model'
import {
  collapse,
  decode,
  encode,
  essence,
  isBlock,
  isVoid,
  NotKept,
  tokensOf,
  startTag,
  type HtmlAttribute,
  type Token
} from './markup.ts'
import { withoutDeclarations, withWordLists } from './word-lists.ts'
import { beginning } from './words.ts'

/** How long a text may be that the editor opens, in characters. */
const LONGEST = 100_000

/** How deep lists and quotations may stand in each other. */
const DEEPEST = 20

/** Elements within a line whose text is edited. */
const INLINE = new Set(
  'a abbr b cite code del em i ins kbd mark q s small span strong sub sup u'.split(' ')
)

interface InlineMark {
  type: 'inline'
  attrs: { name: string; attributes: HtmlAttribute[] }
}

/** A node as ProseMirror reads and writes it. */
export interface NodeJson {
  type: string
  attrs?: Record<string, unknown>
  content?: NodeJson[]
  marks?: InlineMark[]
  text?: string
}

/**
 * Of a text's own attributes the page shows these alone: others could change how the page looks, or
 * load something.
 */
function shown(attributes: HtmlAttribute[]): Record<string, string> {
  return Object.fromEntries(
    attributes.filter(([name]) => name === 'lang' || name === 'dir' || name === 'start')
  )
}

const attributes = { default: [] }
const attributesOf = (node: { attrs: Record<string, unknown> }) =>
  node.attrs['attributes'] as HtmlAttribute[]

/** What stands for something that the editor leaves as it is. */
function pieceOf({ attrs }: Node, name: string): DOMOutputSpec {
  const source = String(attrs['source'])
  return [
    name,
    { class: 'piece', title: beginning(source, 1000) },
    source.length > 80 ? `${beginning(source, 80)}…` : source
  ]
}

/**
 * The texts that can be edited. Each element keeps its attributes. One type stands for all elements
 * within a line, so that they stay in each other as they are.
 */
export const schema = new Schema({
  nodes: {
    doc: { content: 'block+' },
    // `isBare`: without a tag of its own where it is the first in a list item.
    paragraph: {
      group: 'block',
      content: 'inline*',
      attrs: { attributes, isBare: { default: true } },
      parseDOM: [{ tag: 'p' }],
      toDOM: (node) => ['p', shown(attributesOf(node)), 0]
    },
    heading: {
      group: 'block',
      content: 'inline*',
      defining: true,
      attrs: { attributes, level: { default: 2 } },
      toDOM: (node) => [`h${node.attrs['level']}`, shown(attributesOf(node)), 0]
    },
    blockquote: {
      group: 'block',
      content: 'block+',
      defining: true,
      attrs: { attributes },
      toDOM: (node) => ['blockquote', shown(attributesOf(node)), 0]
    },
    ul: {
      group: 'block',
      content: 'li+',
      attrs: { attributes },
      toDOM: (node) => ['ul', shown(attributesOf(node)), 0]
    },
    ol: {
      group: 'block',
      content: 'li+',
      attrs: { attributes },
      toDOM: (node) => ['ol', shown(attributesOf(node)), 0]
    },
    li: {
      content: 'paragraph block*',
      defining: true,
      attrs: { attributes },
      toDOM: (node) => ['li', shown(attributesOf(node)), 0]
    },
    block_piece: {
      group: 'block',
      atom: true,
      attrs: { source: {} },
      toDOM: (node) => pieceOf(node, 'div')
    },
    text: { group: 'inline' },
    inline_piece: {
      group: 'inline',
      inline: true,
      atom: true,
      attrs: { source: {} },
      toDOM: (node) => pieceOf(node, 'span')
    },
    br: {
      group: 'inline',
      inline: true,
      selectable: false,
      attrs: { attributes },
      parseDOM: [{ tag: 'br' }],
      toDOM: () => ['br']
    }
  },
  marks: {
    inline: {
      attrs: { name: {}, attributes },
      excludes: '',
      inclusive: true,
      // Without an address: a press on a link has nowhere to go.
      toDOM: ({ attrs }) => [
        String(attrs['name']),
        shown(attrs['attributes'] as HtmlAttribute[]),
        0
      ]
    }
  }
})

export interface OpenedText {
  doc: Node
  /** What is between the blocks. */
  separator: string
}

/**
 * A text of HTML as the editor has it.
 * @throws {NotKept} where it could not be written again with nothing changed but what `essence`
 *   leaves out
 */
export function openText(source: string): OpenedText {
  if (source.length > LONGEST) throw new NotKept('long')
  const content = read(tokensOf(source))
  const separator = /<\/(?:p|h\d|ul|ol|blockquote)>(\s*)</i.exec(source)?.[1] ?? ''
  const doc = schema.nodeFromJSON({
    type: 'doc',
    content: content.length === 0 ? [{ type: 'paragraph' }] : content
  })
  try {
    doc.check()
  } catch {
    throw new NotKept('unusual')
  }
  if (essence(write(doc, separator)) !== essence(source)) throw new NotKept('unusual')
  return { doc, separator }
}

/** @throws {NotKept} */
function read(tokens: Token[]): NodeJson[] {
  let at = 0
  const isClose = (name: string) => {
    const token = tokens[at]
    return token?.kind === 'close' && token.name === name
  }

  /** Takes a whole element as it is. */
  function skip({ name }: { name: string }): string {
    const begin = at++
    for (let depth = isVoid(name) ? 0 : 1; depth > 0; at++) {
      const token = tokens[at]
      if (!token) throw new NotKept('broken')
      if (token.kind === 'open' && token.name === name) depth++
      if (token.kind === 'close' && token.name === name) depth--
    }
    return tokens
      .slice(begin, at)
      .map(({ raw }) => raw)
      .join('')
  }

  function blocks(parent: string | undefined, depth: number): NodeJson[] {
    if (depth > DEEPEST) throw new NotKept('unusual')
    const nodes: NodeJson[] = []
    for (;;) {
      const token = tokens[at]
      if (!token ? parent === undefined : parent !== undefined && isClose(parent)) {
        at++
        return nodes
      }
      if (!token || token.kind === 'close') throw new NotKept('broken')
      if (token.kind === 'text') {
        if (token.raw.trim() !== '') throw new NotKept('loose')
        at++
      } else if (token.kind === 'piece') {
        nodes.push({ type: 'block_piece', attrs: { source: token.raw } })
        at++
      } else nodes.push(block(token, depth))
    }
  }

  function block(token: Token & { kind: 'open' }, depth: number): NodeJson {
    const { name, attributes } = token
    const level = /^h([1-6])$/.exec(name)?.[1]
    if (name === 'p' || level !== undefined) {
      at++
      const content = inline(name)
      return level === undefined
        ? { type: 'paragraph', attrs: { attributes, isBare: content.length > 0 }, content }
        : { type: 'heading', attrs: { attributes, level: Number(level) }, content }
    }
    if (name === 'blockquote') {
      const begin = at++
      // A quotation without paragraphs stays as it is.
      const next = tokens.slice(at).find(({ kind, raw }) => kind !== 'text' || raw.trim() !== '')
      if (next?.kind === 'open' && isBlock(next.name)) {
        return { type: name, attrs: { attributes }, content: blocks(name, depth + 1) }
      }
      at = begin
    }
    if (name === 'ul' || name === 'ol') {
      at++
      return { type: name, attrs: { attributes }, content: items(name, depth + 1) }
    }
    if (INLINE.has(name) || name === 'br') throw new NotKept('loose')
    return { type: 'block_piece', attrs: { source: skip(token) } }
  }

  function items(list: string, depth: number): NodeJson[] {
    const nodes: NodeJson[] = []
    while (!isClose(list)) {
      const token = tokens[at++]
      if (token?.kind === 'text' && token.raw.trim() === '') continue
      if (token?.kind !== 'open' || token.name !== 'li') throw new NotKept('broken')
      const first = inline('li', true)
      const next = tokens[at]
      const hasTag = first.length === 0 && next?.kind === 'open' && next.name === 'p'
      const rest = blocks('li', depth).map((node, index) =>
        hasTag && index === 0 ? { ...node, attrs: { ...node.attrs, isBare: false } } : node
      )
      nodes.push({
        type: 'li',
        attrs: { attributes: token.attributes },
        content: hasTag ? rest : [{ type: 'paragraph', content: first }, ...rest]
      })
    }
    at++
    return nodes
  }

  /**
   * What is within a line, to the end of its element.
   * @param isOpen whether blocks may follow, before which it stops
   */
  function inline(
    parent: string,
    isOpen = false,
    marks: InlineMark[] = [],
    nodes: NodeJson[] = []
  ): NodeJson[] {
    for (;;) {
      const token = tokens[at]
      if (!token) throw new NotKept('broken')
      const isParent = isClose(parent)
      if (isOpen && (isParent || (token.kind === 'open' && isBlock(token.name)))) return trim(nodes)
      at++
      if (isParent) return marks.length > 0 ? nodes : trim(nodes)
      if (token.kind === 'close' || (token.kind === 'open' && isBlock(token.name))) {
        throw new NotKept('broken')
      }
      const withMarks = marks.length > 0 ? { marks } : {}
      if (token.kind === 'text') push(nodes, collapse(decode(token.raw)), marks)
      else if (token.kind === 'piece') {
        nodes.push({ type: 'inline_piece', attrs: { source: token.raw }, ...withMarks })
      } else if (token.name === 'br') {
        nodes.push({ type: 'br', attrs: { attributes: token.attributes }, ...withMarks })
      } else if (INLINE.has(token.name)) {
        if (marks.length === DEEPEST) throw new NotKept('unusual')
        inline(token.name, false, [...marks, markOf(token.name, token.attributes)], nodes)
      } else {
        at--
        nodes.push({ type: 'inline_piece', attrs: { source: skip(token) }, ...withMarks })
      }
    }
  }

  return blocks(undefined, 0)
}

export function markOf(name: string, attributes: HtmlAttribute[] = []): InlineMark {
  return { type: 'inline', attrs: { name, attributes } }
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

function push(nodes: NodeJson[], text: string, marks: InlineMark[]): void {
  const last = nodes.at(-1)
  if (last?.type === 'text' && isSame(last.marks ?? [], marks)) last.text += text
  else nodes.push({ type: 'text', text, ...(marks.length > 0 && { marks }) })
}

/** Without the white space at both ends, which a browser does not show. */
function trim(nodes: NodeJson[]): NodeJson[] {
  const [first, last] = [nodes[0], nodes.at(-1)]
  if (first?.type === 'text' && !first.marks) first.text = first.text!.replace(/^ /, '')
  if (last?.type === 'text' && !last.marks) last.text = last.text!.replace(/ $/, '')
  return nodes.filter(({ text }) => text !== '')
}

/** What the editor has, as HTML. */
export function write(doc: Node, separator: string): string {
  const { content = [] } = doc.toJSON() as NodeJson
  const [first] = content
  const isEmpty =
    content.length === 1 &&
    first!.type === 'paragraph' &&
    !first!.content &&
    first!.attrs!['isBare'] &&
    isSame(first!.attrs!['attributes'], [])
  return isEmpty ? '' : content.map((node) => writeBlock(node)).join(separator)
}

function writeBlock({ type, attrs = {}, content = [] }: NodeJson, isFirstOfItem = false): string {
  if (type === 'block_piece') return String(attrs['source'])
  if (type === 'paragraph' && isFirstOfItem && attrs['isBare']) return writeInline(content)
  const name = type === 'paragraph' ? 'p' : type === 'heading' ? `h${attrs['level']}` : type
  const inner =
    type === 'paragraph' || type === 'heading'
      ? writeInline(content)
      : content.map((node, index) => writeBlock(node, type === 'li' && index === 0)).join('')
  return `${startTag(name, attrs['attributes'] as HtmlAttribute[])}${inner}</${name}>`
}

function writeInline(nodes: NodeJson[]): string {
  let open: InlineMark[] = []
  let html = ''
  for (const { type, attrs = {}, text = '', marks = [] } of [
    ...nodes,
    { type: 'end' } as NodeJson
  ]) {
    let shared = 0
    while (shared < open.length && shared < marks.length && isSame(open[shared], marks[shared])) {
      shared++
    }
    html += open
      .slice(shared)
      .reverse()
      .map(({ attrs: { name } }) => `</${name}>`)
      .join('')
    html += marks
      .slice(shared)
      .map(({ attrs: { name, attributes } }) => startTag(name, attributes))
      .join('')
    open = marks
    if (type === 'text') html += encode(text)
    else if (type === 'br') html += startTag('br', attrs['attributes'] as HtmlAttribute[])
    else if (type === 'inline_piece') html += String(attrs['source'])
  }
  return html
}

/** Whether HTML has a picture, which is not pasted. */
export function hasPicture(html: string): boolean {
  return /<(?:img|picture|v:imagedata)\b/i.test(html)
}

/** An address that a link may have: of the web, a mail or a telephone, or within the site. */
export function isAddress(url: string): boolean {
  const scheme = /^[^/?#]*?:/.exec(url.replaceAll(/[\s\p{Cc}]/gu, ''))?.[0].toLowerCase()
  return (
    url.trim() !== '' &&
    (scheme === undefined ||
      ['http:', 'https:', 'mailto:', 'tel:', 'internal:', 'entity:'].includes(scheme))
  )
}

/** How much of what is pasted is looked at, in characters. */
const PASTED = 1_000_000

/** What is left of formats within a line when something is pasted. */
const PASTED_INLINE = new Set(['a', 'b', 'code', 'em', 'i', 's', 'strong', 'sub', 'sup', 'u'])

/** What nothing is pasted of. */
const NOT_PASTED = new Set(['head', 'math', 'object', 'select', 'svg'])

/**
 * Blocks of what is pasted, cleaned: paragraphs, headings, lists, links and the commonest formats,
 * without any attribute but the address of a link.
 */
export function pastedOf(html: string): NodeJson[] {
  const root: NodeJson[] = []
  const lists: NodeJson[] = []
  const marks: Array<{ name: string; mark?: InlineMark }> = []
  let block: NodeJson | undefined
  let heading: number | undefined
  let unwanted: { name: string; depth: number } | undefined

  function end(): void {
    if (block) block.content = trim(block.content!)
    block = undefined
  }

  /** The line that text goes into, begun where there is none. */
  function line(): NodeJson[] {
    if (block) return block.content!
    block =
      heading !== undefined && lists.length === 0
        ? { type: 'heading', attrs: { attributes: [], level: heading }, content: [] }
        : { type: 'paragraph', content: [] }
    const item = lists.at(-1)?.content?.at(-1)
    ;(item?.content ?? root).push(block)
    return block.content!
  }

  const source = withoutDeclarations(html.slice(0, PASTED))
  for (const token of withWordLists(tokensOf(source, true))) {
    if (unwanted) {
      if (token.kind === 'open' && token.name === unwanted.name) unwanted.depth++
      if (token.kind === 'close' && token.name === unwanted.name && --unwanted.depth === 0) {
        unwanted = undefined
      }
    } else if (token.kind === 'text') {
      const text = collapse(decode(token.raw, true))
      if (block || text.trim() !== '') {
        push(
          line(),
          text,
          marks.flatMap(({ mark }) => mark ?? [])
        )
      }
    } else if (token.kind === 'open') begin(token)
    else if (token.kind === 'close') close(token.name)
  }
  end()
  return root.filter(isFilled)

  function begin({ name, attributes }: Token & { kind: 'open' }): void {
    const valueOf = (wanted: string) => attributes.find(([name]) => name === wanted)?.[1] ?? ''
    if (NOT_PASTED.has(name)) unwanted = { name, depth: 1 }
    else if (name === 'br') line().push({ type: 'br' })
    else if (PASTED_INLINE.has(name)) {
      const href = valueOf('href').trim()
      // Google Docs has all that is copied in a <b> that is none.
      const isWanted =
        name === 'a' ? isAddress(href) : !/font-weight:\s*(?:normal|400)/.test(valueOf('style'))
      const mark = markOf(name, name === 'a' ? [['href', href]] : [])
      marks.push({
        name,
        ...(isWanted &&
          marks.length < DEEPEST &&
          !marks.some((one) => isSame(one.mark, mark)) && { mark })
      })
    } else if (isBlock(name)) {
      end()
      heading = /^h[1-6]$/.test(name) ? Math.max(2, Number(name[1])) : undefined
      if ((name === 'ul' || name === 'ol') && lists.length < DEEPEST) {
        const list: NodeJson = { type: name, content: [] }
        const item = lists.at(-1)?.content?.at(-1)
        if (item && item.content!.length === 0) {
          item.content!.push({ type: 'paragraph', content: [] })
        }
        ;(item?.content ?? root).push(list)
        lists.push(list)
      } else if (name === 'li') lists.at(-1)?.content!.push({ type: 'li', content: [] })
    }
  }

  function close(name: string): void {
    if (PASTED_INLINE.has(name)) {
      const index = marks.findLastIndex((mark) => mark.name === name)
      if (index >= 0) marks.splice(index, 1)
    } else if (isBlock(name)) {
      end()
      heading = undefined
      if (lists.at(-1)?.type === name) lists.pop()
    }
  }
}

/** Takes out lists and items with nothing in them. */
function isFilled(node: NodeJson): boolean {
  if (node.type === 'ul' || node.type === 'ol') {
    node.content = node.content!.filter(({ content }) => content!.length > 0)
  }
  for (const item of node.type === 'ul' || node.type === 'ol' ? node.content! : []) {
    item.content = item.content!.filter(isFilled)
  }
  return node.type === 'paragraph' || node.type === 'heading' || node.content!.length > 0
}

/** Blocks of a plain text, one for each line. */
export function linesOf(text: string): NodeJson[] {
  return text
    .slice(0, PASTED)
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '')
    .map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] }))
}
