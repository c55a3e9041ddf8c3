import { en } from './texts-en.ts'
import { de } from './texts-de.ts'
import { fr } from './texts-fr.ts'

/** A line that depends on a number, by the plural categories of CLDR; `other` stands for those that a language leaves out. */
interface Plural { one: string, other: string }

type English = typeof en

export type TextKey = keyof English

/** All lines in another language. */
export type Texts = { readonly [Key in TextKey]: English[Key] extends string ? string : Plural }

/** The names in braces of a line. */
type Names<Line> = Line extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

type NamesOf<Key extends TextKey> = English[Key] extends Plural ? 'count' | Names<English[Key]['one' | 'other']> : Names<English[Key]>

type Values<Key extends TextKey, Value> = [NamesOf<Key>] extends [never] ? [] : [values: Record<NamesOf<Key>, Value>]

const languages: Record<string, Texts> = { en, de, fr }

let locale: string
let texts: Texts
let plurals: Intl.PluralRules
let numbers: Intl.NumberFormat

/**
 * Speaks the first of some languages that the desk has, else English. Dates and numbers are those of its region.
 * @param wishes such as `['fr-CH', 'de']`, the reader's favourite first
 */
export function useLanguage (wishes: readonly string[]): void {
  const wish = wishes.find((tag) => Object.hasOwn(languages, primary(tag))) ?? 'en-GB'
  texts = languages[primary(wish)]!
  locale = wish
  plurals = new Intl.PluralRules(wish)
  numbers = new Intl.NumberFormat(wish)
}

useLanguage([])

/** The language that the desk speaks, such as `fr`. */
export function language (): string {
  return primary(locale)
}

/** A number as the reader writes it. */
export function figure (number: number): string {
  return numbers.format(number)
}

/** The reader's language and region, for dates. */
export function localeOfReader (): string {
  return locale
}

function primary (tag: string): string {
  return tag.split('-')[0]!.toLowerCase()
}

/** A text by its key, in the reader's language. `{name}` in it becomes a value; `count` chooses between its plurals. */
export function say<Key extends TextKey> (key: Key, ...[values]: Values<Key, string | number>): string {
  return partsOf(key, values).map((part) => typeof part === 'number' ? numbers.format(part) : part).join('')
}

/** The same as pieces to be rendered, with templates among the values. */
export function sayWith<Key extends TextKey> (key: Key, ...[values]: Values<Key, unknown>): unknown[] {
  return partsOf(key, values).map((part) => typeof part === 'number' ? numbers.format(part) : part)
}

function partsOf (key: TextKey, values: Record<string, unknown> = {}): unknown[] {
  const line: string | Plural = texts[key]
  const text = typeof line === 'string' ? line : line[plurals.select(Number(values['count'])) as keyof Plural] ?? line.other
  return text.split(/\{(\w+)\}/).map((part, index) => index % 2 === 0 ? part : values[part])
}
