import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { failures } from '../../../lib/errors.ts'
import { FINDING_CODES } from '../../../lib/editions/model.ts'
import type { Finding, LockView } from '../../client/src/client.ts'
import { reasonOf, sentenceOf, signInReason, wordsOfFinding } from '../page/reasons.ts'
import { de } from '../page/texts-de.ts'
import { en } from '../page/texts-en.ts'
import { fr } from '../page/texts-fr.ts'
import * as journalDe from '../page/texts-journal-de.ts'
import * as journalEn from '../page/texts-journal-en.ts'
import * as journalFr from '../page/texts-journal-fr.ts'
import { sayHere } from '../page/texts-journal.ts'
import * as formattedDe from '../page/texts-formatted-de.ts'
import * as formattedEn from '../page/texts-formatted-en.ts'
import * as formattedFr from '../page/texts-formatted-fr.ts'
import * as finderDe from '../page/texts-finder-de.ts'
import * as finderEn from '../page/texts-finder-en.ts'
import * as finderFr from '../page/texts-finder-fr.ts'
import * as keysDe from '../page/texts-keys-de.ts'
import * as keysEn from '../page/texts-keys-en.ts'
import * as keysFr from '../page/texts-keys-fr.ts'
import * as makerDe from '../page/texts-maker-de.ts'
import * as makerEn from '../page/texts-maker-en.ts'
import * as makerFr from '../page/texts-maker-fr.ts'
import type { Texts } from '../page/lines.ts'
import { figure, language, localeOfReader, say, sayWith, useLanguage, type TextKey } from '../page/texts.ts'
import { duration } from '../page/words.ts'
import { ROOT } from '../../../test/app/fixtures/processes.ts'

const PAGE = join(ROOT, 'packages/desk/page')

t.afterEach(() => useLanguage([]))

const isCode = (key: string) => /^[A-Z_]+$/.test(key)
const keys = Object.keys(en).filter((key) => !isCode(key)) as TextKey[]
const languages: Record<string, Texts> = { de, fr }
/** English leaves the codes of failures to the service. */
const codes = Object.keys(de).filter(isCode)

/** What the client alone fails with. */
const OF_CLIENT = ['UNREACHABLE', 'INVALID_RESPONSE']

/** What no editor meets: the desk asks for no other method, path or media type, uses no key for two requests, and hears nothing of what it has left. */
const NEVER_MET = ['METHOD_NOT_ALLOWED', 'CALLER_GONE', 'URI_TOO_LONG', 'UNSUPPORTED_MEDIA_TYPE', 'MISDIRECTED', 'IDEMPOTENCY_KEY_REUSED']

/** The sentences of a line, one for each plural. */
const sentences = (line: Texts[TextKey]): string[] => (typeof line === 'string' ? [line] : Object.values(line))
const namesIn = (line: Texts[TextKey]) =>
  [...new Set(sentences(line).flatMap((sentence) => [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)))].sort()
/** The names of the values in each line. */
const valuesOf = <Key extends string>(texts: Partial<Record<Key, Texts[TextKey]>>, keys: Key[]) =>
  Object.fromEntries(keys.map((key) => [key, namesIn(texts[key]!)]))
/** The sentences of a line that are empty, or have a straight quotation mark or three dots. */
const untypographic = (line: Texts[TextKey]) => sentences(line).filter((sentence) => sentence.trim() === '' || /["']|\.\.\./.test(sentence))

t.test('each language has all lines, with the same values in them, and none besides', async (t) => {
  for (const [name, texts] of Object.entries(languages)) {
    t.strictSame(
      Object.keys(texts).filter((key) => !codes.includes(key)),
      keys,
      `${name} has the lines of English, in the same order`
    )
    t.strictSame(valuesOf(texts, keys), valuesOf(en, keys), `${name} has the values of English`)
    t.strictSame(
      Object.keys(texts).filter((key) => codes.includes(key)),
      codes,
      `${name} has the codes of German`
    )
    t.strictSame(valuesOf(texts, codes as TextKey[]), valuesOf(de, codes as TextKey[]), `${name} has the values of German`)
  }
  t.strictSame([en, de, fr].flatMap((texts) => Object.values(texts)).flatMap(untypographic), [], 'typographic marks')
})

/** The parts of the page that come later: their lines, and the sources that use them. */
const parts: Record<string, { lines: Record<'en' | 'de' | 'fr', Record<string, Texts[TextKey]>>; sources: string[]; named?: string[] }> = {
  history: {
    lines: { en: journalEn.en, de: journalDe.de, fr: journalFr.fr },
    sources: globSync('journal*.ts', { cwd: PAGE }),
    // What was done and what became of it have their names from the service.
    named: ['create', 'update', 'order', 'restore', 'outside', 'refused', 'uncertain']
  },
  'editor of formatted texts': {
    lines: { en: formattedEn.en, de: formattedDe.de, fr: formattedFr.fr },
    sources: ['formatted-editor.ts', 'markup.ts']
  },
  'search for articles': {
    lines: { en: finderEn.en, de: finderDe.de, fr: finderFr.fr },
    sources: ['finder-view.ts']
  },
  'list of keys': {
    lines: { en: keysEn.en, de: keysDe.de, fr: keysFr.fr },
    sources: ['keys-list-view.ts']
  },
  'form for a new edition': {
    lines: { en: makerEn.en, de: makerDe.de, fr: makerFr.fr },
    sources: ['maker.ts', 'maker-view.ts']
  }
}

for (const [part, { lines, sources, named = [] }] of Object.entries(parts)) {
  t.test(`the ${part} has lines of its own, in each language, and uses all of them`, async (t) => {
    const own = Object.keys(lines.en)
    const source = sources.map((name) => readFileSync(join(PAGE, name), 'utf8')).join('\n')
    for (const texts of [lines.de, lines.fr]) {
      t.strictSame(Object.keys(texts), own, 'the lines of English, in the same order')
      t.strictSame(valuesOf(texts, own), valuesOf(lines.en, own), 'the values of English')
    }
    t.strictSame(
      own.filter((key) => !named.includes(key) && !source.includes(`'${key}'`)),
      [],
      'a line that is not used'
    )
    t.strictSame(
      Object.values(lines).flatMap((texts) => Object.values(texts).flatMap(untypographic)),
      [],
      'typographic marks'
    )
  })
}

t.test('a part that comes later speaks the language of the page', async (t) => {
  t.strictSame([sayHere('older'), sayHere('fields', { count: 1234 })], ['Older', '1,234 fields'])
  useLanguage(['fr'])
  t.strictSame([sayHere('older'), sayHere('fields', { count: 1 })], ['Plus anciennes', '1 champ'])
})

t.test('each line is used, and a line in capitals is a code of the service', async (t) => {
  const sources = globSync('packages/desk/page/*.ts', { cwd: ROOT })
    .filter((path) => !/^texts-/.test(basename(path)))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n')
  t.strictSame(
    keys.filter((key) => !sources.includes(`'${key}'`)),
    [],
    'a line that is not used'
  )
  const known: string[] = [...OF_CLIENT, ...Object.keys(failures), ...FINDING_CODES]
  for (const code of codes) t.ok(known.includes(code), `${code} is a code of the service or of its client`)
})

t.test(
  'each code that an editor can meet has a text in each language; failures have none in English, which the service speaks',
  async (t) => {
    t.strictSame(
      Object.keys(en).filter(isCode),
      codes.filter((code) => FINDING_CODES.includes(code as (typeof FINDING_CODES)[number])),
      'of findings the desk knows the names'
    )
    const met = [...OF_CLIENT, ...Object.keys(failures).filter((code) => !NEVER_MET.includes(code)), ...FINDING_CODES]
    for (const [name, texts] of Object.entries(languages)) {
      for (const code of met) t.ok(Object.hasOwn(texts, code), `${name}: ${code}`)
      for (const code of NEVER_MET) t.notOk(Object.hasOwn(texts, code), `${name}: ${code} is never met`)
    }
    for (const code of NEVER_MET) t.ok(Object.hasOwn(failures, code), `${code} is a code of the service`)
  }
)

t.test("the reader's first language that the desk has is spoken, with the dates and numbers of its region", async (t) => {
  const rows: Array<[wishes: string[], language: string, locale: string]> = [
    [['de-AT', 'en'], 'de', 'de-AT'],
    [['FR-ch'], 'fr', 'FR-ch'],
    [['it', 'fr', 'de'], 'fr', 'fr'],
    [['en-US', 'de'], 'en', 'en-US'],
    [['it'], 'en', 'en-GB'],
    [[], 'en', 'en-GB'],
    [['constructor'], 'en', 'en-GB']
  ]
  for (const [wishes, spoken, locale] of rows) {
    useLanguage(wishes)
    t.strictSame([language(), localeOfReader()], [spoken, locale], wishes.join())
  }
})

t.test('a line takes values, and a number chooses its plural', async (t) => {
  t.equal(say('articleCount', { count: 1 }), '1 article')
  t.equal(say('articleCount', { count: 0 }), '0 articles')
  t.equal(say('editionsFoundCount', { count: 1234 }), '1,234 editions found')
  t.equal(say('editionNamed', { id: '1234' }), 'Edition 1234', 'an id is no number')
  t.strictSame(sayWith('rangeOf', { range: 1000, editions: t }), ['', '1,000', ' of ', t, ''], 'what is rendered stays as it is')

  useLanguage(['de'])
  t.equal(say('editionsFoundCount', { count: 1234 }), '1.234 Ausgaben gefunden')
  t.equal(duration(3 * 86_400), '3 Tagen')
  useLanguage(['fr'])
  t.equal(say('articleCount', { count: 0 }), '0 article', 'in French nothing is singular')
  t.equal(
    say('articleCount', { count: 1_000_000 }),
    `${figure(1_000_000)} articles`,
    'a million is of a category that the file leaves to the others'
  )
})

t.test('failures and findings are told in the language of the reader as far as they can be', async (t) => {
  const failure = { code: 'CMS_TIMEOUT', message: 'The CMS did not answer within 8 ms' } as const
  const finding: Finding = {
    code: 'LOCKED',
    message: 'Ben is editing title of the edition',
    entityType: 'x',
    entityId: '1',
    fieldName: 'title',
    lock: { fieldName: 'title', timestamp: 1, userData: { uid: '8', name: 'Ben' } } as LockView
  }
  const about = { what: 'Ausgabe', label: 'Titel' }
  t.strictSame(
    [reasonOf(failure), wordsOfFinding(finding, { what: 'the edition', label: 'Title' })],
    [failure.message, 'Ben is editing Title of the edition'],
    'English is what the service speaks'
  )
  useLanguage(['de'])
  t.strictSame(
    [reasonOf(failure), wordsOfFinding(finding, about)],
    ['Das CMS antwortet nicht rechtzeitig.', 'Ben bearbeitet Titel (Ausgabe)']
  )
  t.equal(
    say('mayBeOld', { reason: sentenceOf(failure) }),
    'Das CMS antwortet nicht rechtzeitig. Was Sie sehen, kann veraltet sein.',
    'with one full stop'
  )
  t.equal(reasonOf({ code: 'CMS_FORBIDDEN', message: 'Access denied' }), 'Drupal lässt das nicht zu: Access denied', 'Drupal says why')
  t.equal(reasonOf({ code: 'MISDIRECTED', message: 'Another host' }), 'Another host', 'a code without a text')
  t.equal(
    wordsOfFinding({ ...finding, lock: { ...finding.lock!, userData: { uid: '8' } } }, about),
    'jemand bearbeitet Titel (Ausgabe)',
    'whose name is not told'
  )
  const { fieldName: _, lock: _2, ...hidden } = finding
  t.equal(wordsOfFinding(hidden, { what: 'X', label: undefined }), finding.message, 'whose lock it is, is not told')
})

t.test('who is not known is told why in the language of the reader', async (t) => {
  t.teardown(() => useLanguage(['en']))
  useLanguage(['en'])
  t.equal(signInReason({ code: 'UNAUTHENTICATED', message: 'The token has expired' }), 'The token has expired')
  useLanguage(['de'])
  t.equal(signInReason({ code: 'UNAUTHENTICATED', message: 'The token has expired' }), de.UNAUTHENTICATED)
  t.equal(signInReason({ code: 'AUTH_UNAVAILABLE', message: 'Drupal does not answer' }), de.AUTH_UNAVAILABLE)
  t.equal(signInReason({ code: 'MISDIRECTED', message: 'Another host' } as never), 'Another host', 'a code without a text')
  t.equal(signInReason(), de.serviceAway, 'no answer, or that of a proxy')
})
