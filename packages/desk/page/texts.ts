import type { Code, English, Lines, LinesOf, Plural } from './lines.ts'
import { en } from './texts-en.ts'
import { de } from './texts-de.ts'
import { fr } from './texts-fr.ts'

export type TextKey = keyof English

/** The names in braces of a line. */
type Names<Line> = Line extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

type NamesOf<Line> = Line extends Plural ? 'count' | Names<Line['one' | 'other']> : Names<Line>

type Values<Line, Value> = [NamesOf<Line>] extends [never]
  ? []
  : [values: Record<NamesOf<Line>, Value>]

type Spoken = Lines & Partial<Readonly<Record<Code, string>>>

/**
 * In a browser the texts of one language are there; the service leaves the others out of the
 * script.
 */
const languages: Record<string, Spoken | undefined> = { en, de, fr }

let locale: string
let texts: Spoken
let plurals: Intl.PluralRules
let numbers: Intl.NumberFormat

/**
 * Speaks the first of some languages that the desk has, else English, or the only one that it has.
 * Dates and numbers are those of its region.
 * @param wishes such as `['fr-CH', 'de']`, the reader's favourite first
 */
export function useLanguage(wishes: readonly string[]): void {
  const wish = [...wishes, 'en-GB', 'de', 'fr'].find((tag) => languageOf(tag))!
  texts = languageOf(wish)!
  locale = wish
  plurals = new Intl.PluralRules(wish)
  numbers = new Intl.NumberFormat(wish)
}

useLanguage([])

function languageOf(tag: string): Spoken | undefined {
  return Object.hasOwn(languages, primary(tag)) ? languages[primary(tag)] : undefined
}

/** The language that the desk speaks, such as `fr`. */
export function language(): string {
  return primary(locale)
}

/** A number as the reader writes it. */
export function figure(number: number): string {
  return numbers.format(number)
}

/** The reader's language and region, for dates. */
export function localeOfReader(): string {
  return locale
}

function primary(tag: string): string {
  return tag.split('-')[0]!.toLowerCase()
}

/**
 * A text by its key, in the reader's language. `{name}` in it becomes a value; `count` chooses
 * between its plurals.
 */
export function say<Key extends TextKey>(
  key: Key,
  ...[values]: Values<English[Key], string | number>
): string {
  return shown(partsOf(key, values)).join('')
}

/** The same as pieces to be rendered, with templates among the values. */
export function sayWith<Key extends TextKey>(
  key: Key,
  ...[values]: Values<English[Key], unknown>
): unknown[] {
  return shown(partsOf(key, values))
}

/** Gives the texts of a part of the page, like `say`. */
export type Sayer<Source> = <Key extends keyof Source>(
  key: Key,
  ...values: Values<Source[Key], string | number>
) => string

/** Gives the texts of a part of the page that comes later, and brings its lines with it. */
export function sayer<Source>(lines: Record<'en' | 'de' | 'fr', LinesOf<Source>>): Sayer<Source> {
  return (key, ...[values]) =>
    shown(partsIn(lines[language() as keyof typeof lines][key], values)).join('')
}

/**
 * The text of a code of a failure or a finding; undefined where the language has none, or a value
 * that it needs is missing.
 */
export function codeText(
  code: string,
  values: Record<string, string | undefined> = {}
): string | undefined {
  if (!Object.hasOwn(texts, code)) return undefined
  const parts = partsIn(texts[code as Code]!, values)
  return parts.includes(undefined) ? undefined : parts.join('')
}

/** Numbers as the reader writes them. */
function shown(parts: unknown[]): unknown[] {
  return parts.map((part) => (typeof part === 'number' ? numbers.format(part) : part))
}

function partsOf(key: TextKey, values?: Record<string, unknown>): unknown[] {
  return partsIn(texts[key], values)
}

function partsIn(line: string | Plural, values: Record<string, unknown> = {}): unknown[] {
  const text =
    typeof line === 'string'
      ? line
      : (line[plurals.select(Number(values['count'])) as keyof Plural] ?? line.other)
  return text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : values[part]))
}
