/** An attribute of a tag, its value decoded. */
export type HtmlAttribute = [name: string, value: string]

/**
 * A part of HTML. A `piece` is a comment, or an element whose content is no markup, such as a
 * script.
 */
export type Token = { raw: string } & (
  | { kind: 'text' }
  | { kind: 'piece' }
  | { kind: 'open'; name: string; attributes: HtmlAttribute[] }
  | { kind: 'close'; name: string }
)

/**
 * Why a text cannot be edited and stay as it is: browsers would mend it, it stands outside of
 * paragraphs, it has what the editor does not know, or it is too long.
 */
export type Reason = 'broken' | 'loose' | 'unusual' | 'long'

export class NotKept extends Error {
  readonly reason: Reason

  constructor(reason: Reason) {
    super(`The text would not stay as it is: ${reason}`)
    this.reason = reason
  }
}

const TAG =
  /<(\/?)([a-z][\w:.-]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*(\/?)>/iy

const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g

const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr'
])

/** Elements whose content is no markup (WHATWG HTML, section 13.1.2). */
const OPAQUE = new Set([
  'iframe',
  'noembed',
  'noframes',
  'noscript',
  'plaintext',
  'script',
  'style',
  'template',
  'textarea',
  'title',
  'xmp'
])

/**
 * Elements that end a paragraph where they begin (WHATWG HTML, section 4.4.1), and parts of tables
 * and lists.
 */
const BLOCKS = new Set(
  'address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul'.split(
    ' '
  )
)

export const isBlock = (name: string): boolean => BLOCKS.has(name)
export const isVoid = (name: string): boolean => VOID.has(name)

/**
 * The parts of HTML, in their order.
 * @param isLenient takes what is no markup as text
 * @throws {NotKept} what browsers would have to mend
 */
export function tokensOf(source: string, isLenient = false): Token[] {
  const tokens: Token[] = []
  let [at, text] = [0, 0]

  function add(end: number, token?: Token): void {
    if (at > text) tokens.push({ kind: 'text', raw: source.slice(text, at) })
    if (token) tokens.push(token)
    at = text = end
  }

  for (at = source.indexOf('<'); at >= 0; at = source.indexOf('<', at)) {
    TAG.lastIndex = at
    const [raw, slash, tag, attributes = '', selfClosing] = TAG.exec(source) ?? []
    const name = tag?.toLowerCase() ?? ''
    const isComment = source.startsWith('<!--', at)
    const end = isComment
      ? endOfComment(source, at)
      : OPAQUE.has(name) && !slash
        ? endOf(source, name, at)
        : at + (raw?.length ?? 0)
    if (end <= at || (!isLenient && selfClosing && !VOID.has(name))) {
      if (!isLenient && /[a-z/!?]/i.test(source[at + 1] ?? '')) throw new NotKept('broken')
      at++
    } else if (isComment || (OPAQUE.has(name) && !slash)) {
      add(end, { kind: 'piece', raw: source.slice(at, end) })
    } else {
      add(
        end,
        slash
          ? { kind: 'close', name, raw: raw! }
          : { kind: 'open', name, raw: raw!, attributes: attributesOf(attributes, isLenient) }
      )
    }
  }
  at = source.length
  add(at)
  return tokens
}

/** Where a comment ends; 0 where it does not. */
function endOfComment(source: string, at: number): number {
  const end = source.indexOf('-->', at + 4)
  return end < 0 ? 0 : end + 3
}

/** Where an element ends whose content is no markup; 0 where it does not. */
function endOf(source: string, name: string, at: number): number {
  const end = new RegExp(`</${name}\\s*>`, 'ig')
  end.lastIndex = at
  return end.exec(source) ? end.lastIndex : 0
}

function attributesOf(source: string, isLenient: boolean): HtmlAttribute[] {
  return [...source.matchAll(ATTRIBUTE)].map(([, name, double, single, bare]) => [
    name!.toLowerCase(),
    decode(double ?? single ?? bare ?? '', isLenient, true)
  ])
}

/** The names of U+00A0 to U+00FF, in their order. */
const LATIN =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'.split(
    ' '
  )

const CHARACTERS = new Map<string, string>([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['ndash', '–'],
  ['mdash', '—'],
  ['hellip', '…'],
  ['euro', '€'],
  ['bull', '•'],
  ['trade', '™'],
  ['thinsp', '\u2009'],
  ['lsquo', '‘'],
  ['rsquo', '’'],
  ['sbquo', '‚'],
  ['ldquo', '“'],
  ['rdquo', '”'],
  ['bdquo', '„'],
  ['lsaquo', '‹'],
  ['rsaquo', '›'],
  ['oelig', 'œ'],
  ['OElig', 'Œ'],
  ...LATIN.map((name, index): [string, string] => [name, String.fromCharCode(0xa0 + index)])
])

/**
 * Text of HTML with its character references decoded.
 * @throws {NotKept} for a reference that is not known here
 */
export function decode(raw: string, isLenient = false, isAttribute = false): string {
  return raw.replaceAll(
    /&(?:#x([\da-f]{1,6});|#(\d{1,7});|(\w+)(;|(=)?))/gi,
    (
      reference,
      hex: string | undefined,
      decimal: string | undefined,
      name: string | undefined,
      end: string,
      equals: string | undefined
    ) => {
      const code = hex ? parseInt(hex, 16) : Number(decimal)
      // Browsers give other characters for those of Windows-1252.
      const character =
        name === undefined
          ? (code >= 0xa0 || (code >= 0x20 && code < 0x7f)) &&
            code <= 0x10ffff &&
            !(code >= 0xd800 && code < 0xe000)
            ? String.fromCodePoint(code)
            : undefined
          : end === ';'
            ? CHARACTERS.get(name)
            : isAttribute && equals
              ? reference
              : undefined
      if (character === undefined && !isLenient) throw new NotKept('unusual')
      return character ?? reference
    }
  )
}

export function encode(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\u00a0', '&nbsp;')
}

export function startTag(name: string, attributes: HtmlAttribute[]): string {
  return `<${name}${attributes.map(([name, value]) => ` ${name}="${encode(value).replaceAll('"', '&quot;')}"`).join('')}>`
}

/** White space as a browser shows it. */
export const collapse = (text: string): string => text.replaceAll(/[ \t\r\n\f]+/g, ' ')

/** Placeholders of Twig, which are to stay letter by letter. */
const TWIG = /\{[{%#]/

/**
 * What has to stay of HTML: two texts for which this is the same differ in nothing but how
 * attributes are quoted, characters spelled, tags capitalized, and white space where a browser
 * shows none or one space.
 * @throws {NotKept}
 */
export function essence(source: string): string {
  const tokens = tokensOf(source)
  return JSON.stringify(
    tokens.flatMap<unknown>((token, index) => {
      if (token.kind === 'piece') return [token.raw]
      if (token.kind === 'close') return [`/${token.name}`]
      if (token.kind === 'open') return [[token.name, ...token.attributes]]
      if (TWIG.test(token.raw)) {
        return encode(decode(token.raw)) === token.raw ? [`=${token.raw}`] : fail()
      }
      let text = collapse(decode(token.raw))
      if (isEdge(tokens[index - 1])) text = text.replace(/^ /, '')
      if (isEdge(tokens[index + 1])) text = text.replace(/ $/, '')
      return text === '' ? [] : [`=${text}`]
    })
  )
}

function fail(): never {
  throw new NotKept('unusual')
}

/** Whether white space beside it is not shown. */
function isEdge(token: Token | undefined): boolean {
  if (!token) return true
  return (token.kind === 'open' || token.kind === 'close') && isBlock(token.name)
}
