import { readFileSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { Environment } from '../config/env.ts'
import type { SettingNotes } from '../config/setting.ts'
import { DevEnvironment } from './environment.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = join(ROOT, 'docs/settings.md')
const EXAMPLE = join(ROOT, '.env.example')

/** Around what is made in the page; what else it says is written by hand. */
const MARKS = {
  begin: '<!-- Made by npm run settings of config/. -->',
  end: '<!-- End of what is made. -->'
}

/** How long a line of .env.example may be. */
const WIDTH = 110

interface Setting extends SettingNotes {
  name: string
  group: string
  /** What it is where it is not set; a path within the repository is told from its root. */
  default?: string
  required: boolean
}

/** Every setting there is, in the order of the documents. */
export function settings(): Setting[] {
  const requiredNames: readonly string[] = Environment.required
  const schemas: Array<[string, TSchema & SettingNotes]> = Object.entries({
    ...Environment.properties,
    ...DevEnvironment
  })
  return schemas.map(
    ([name, { default: value, group, description, turn, allowed, example, unset, dev }]) => ({
      name,
      group,
      description,
      turn,
      allowed,
      required: requiredNames.includes(name) && value === undefined,
      ...(value !== undefined && { default: String(value).replace(ROOT + sep, '') }),
      ...(example !== undefined && { example }),
      ...(unset !== undefined && { unset }),
      ...(dev !== undefined && { dev })
    })
  )
}

function byGroup(): Array<[group: string, settings: Setting[]]> {
  return Object.entries(Object.groupBy(settings(), ({ group }) => group)) as Array<
    [string, Setting[]]
  >
}

/** The tables of docs/settings.md, one a group. */
export function settingsTables(): string {
  return byGroup()
    .map(([group, settings]) =>
      [
        `### ${group}`,
        '',
        '| setting | default | what it is for | set it when | its value |',
        '|---|---|---|---|---|',
        ...settings.map(
          (setting) =>
            `| ${setting.name} | ${withoutValue(setting)} | ${setting.description} | ${setting.turn} | ${setting.allowed} |`
        ),
        ''
      ].join('\n')
    )
    .join('\n')
}

function withoutValue({ default: value, unset, required, dev }: Setting): string {
  const cell = value ?? unset ?? (required ? 'required' : '')
  return dev === undefined ? cell : `${cell} (\`npm run dev\`: ${dev})`.trim()
}

/** docs/settings.md with its tables made anew. */
export function settingsPage(page = readFileSync(PAGE, 'utf8')): string {
  const [before, rest] = page.split(MARKS.begin) as [string, string?]
  const after = rest?.split(MARKS.end)[1]
  if (after === undefined) {
    throw new Error(`docs/settings.md must have the lines ${MARKS.begin} and ${MARKS.end}`)
  }
  return `${before}${MARKS.begin}\n\n${settingsTables()}\n${MARKS.end}${after}`
}

/** .env.example: every setting as a comment, with its default or an example. */
export function envExample(): string {
  return (
    [
      '# Settings of Quoin, made by `npm run settings` of config/. Copy this file to .env and take the # off the lines to change.',
      '# What is set in the environment wins. A value with a # in it, as passwords may have, goes in quotes.',
      '# `npm run dev` needs none of them. `npm start` needs ENVIRONMENT, CMS_URL and AWS_REGION (or DYNAMODB_ENDPOINT).',
      '',
      ...byGroup().flatMap(([group, settings]) => [
        `# ----- ${group} -----`,
        '',
        ...settings.flatMap((setting) => [
          ...explain(setting),
          `# ${setting.name}=${setting.default ?? setting.example ?? ''}`,
          ''
        ])
      ])
    ]
      .join('\n')
      .trimEnd() + '\n'
  )
}

function explain({ description, turn, allowed, unset, dev, required }: Setting): string[] {
  const plain = `${description} Set it when: ${turn}`.replace(
    /\[([^\]]+)\]\(([^)]+)\)/g,
    '$1 (docs/$2)'
  )
  const more = [
    required && 'Required.',
    unset && `Not set: ${unset}.`,
    dev && `\`npm run dev\` takes ${dev}.`
  ].filter(Boolean)
  return [...wrap(plain), ...wrap([`Value: ${allowed}.`, ...more].join(' '))].map(
    (line) => `# ${line}`
  )
}

/** Breaks a text into lines, of which none begins like a setting that is commented out. */
function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(/ (?![A-Z_]+=)/)) {
    const line = `${lines.at(-1)} ${word}`.trimStart()
    if (line.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = line
  }
  return lines
}

// `npm run settings`
if (import.meta.main ?? process.argv[1] === import.meta.filename) {
  writeFileSync(PAGE, settingsPage())
  writeFileSync(EXAMPLE, envExample())
}
