import type { CmsContent, Seed } from '../packages/drupal-stand-in/cms.ts'
import {
  bundleSeeds,
  editionTypeSeeds,
  namedUuid,
  roles,
  type Bundle
} from './content/configuration.ts'
import { coverFile } from './content/covers.ts'
import { headlines, specials } from './content/headlines.ts'

const day = 86_400
const firstDay = Date.UTC(2026, 9, 6) / 1000

const allowedValues = { daily: 'Daily Editions', special: 'Special Editions' }

const twoBundles: Bundle[] = [
  { id: 'daily', label: 'Daily Edition', description: 'The paper of one day.' },
  { id: 'special', label: 'Special Edition', description: 'Supplements and magazines.' }
]

const oneBundle: Bundle[] = [
  { id: 'publisher_container', label: 'Edition', description: 'Every edition of the paper.' }
]

const sections = Object.keys(headlines)
const tags = ['front page', 'interview', 'background', 'opinion']
const covers = 6

const iso = (seconds: number) => new Date(seconds * 1000).toISOString()

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

function users(): Seed[] {
  return ['admin', 'editor', 'editor2', 'reader'].map((name, index) => ({
    type: 'user--user',
    id: index + 1,
    uuid: namedUuid(`user ${name}`),
    fields: {
      name,
      mail: `${name}@example.com`,
      created: firstDay,
      changed: firstDay,
      roles: name.startsWith('editor') ? [{ target_id: 'editor' }] : []
    }
  }))
}

function terms(): Seed[] {
  const term = (vocabulary: string, name: string, id: number): Seed => ({
    type: `taxonomy_term--${vocabulary}`,
    id,
    uuid: namedUuid(`${vocabulary} ${name}`),
    fields: { name, changed: firstDay, revision_created: firstDay }
  })
  return [
    ...sections.map((name, index) => term('sections', name, index + 1)),
    ...tags.map((name, index) => term('tags', name, sections.length + index + 1))
  ]
}

function files(): Seed[] {
  return Array.from({ length: covers }, (_, index) => {
    const filename = `cover ${index + 1}.jpg`
    const fields = {
      filename,
      uri: `public://covers/${filename}`,
      filemime: 'image/jpeg',
      filesize: 48_000 + 731 * index,
      uid: 2,
      created: firstDay,
      changed: firstDay
    }
    return { type: 'file--file', id: index + 1, uuid: namedUuid(`file ${filename}`), fields }
  })
}

function articles(): Seed[] {
  const perSection = headlines[sections[0]!]!.length
  return Array.from({ length: perSection * sections.length }, (_, index) => {
    const section = sections[index % sections.length]!
    const title = headlines[section]![Math.floor(index / sections.length)]!
    const id = index + 1
    const createdAt = firstDay + index * 30_600
    const author = index % 2 === 0 ? 2 : 3
    return {
      type: 'node--article',
      id,
      uuid: namedUuid(`article ${title}`),
      fields: {
        title,
        uid: author,
        revision_uid: author,
        status: id % 20 !== 0,
        created: createdAt,
        changed: createdAt + 900,
        revision_timestamp: createdAt + 900,
        body: {
          value: `<p>${title}. The full report of our ${section} desk.</p>`,
          format: 'basic_html',
          summary: ''
        },
        comment: {
          status: 2,
          cid: 0,
          last_comment_timestamp: createdAt,
          last_comment_name: null,
          last_comment_uid: author,
          comment_count: 0
        },
        path:
          id % 10 === 0
            ? { alias: `/articles/${slug(title)}`, pid: id / 10, langcode: 'en' }
            : { alias: null, pid: null, langcode: 'en' },
        ...(id % 7 !== 0 && {
          field_image: {
            target_id: 1 + (index % covers),
            alt: '',
            title: null,
            width: 1200,
            height: 1600
          }
        }),
        field_tags: [
          { target_id: 1 + (index % sections.length) },
          { target_id: sections.length + 1 + (index % tags.length) }
        ]
      }
    }
  })
}

interface Issue {
  kind: 'daily' | 'special'
  key: string
  title: string
  date: number
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December'
]

/** Without Intl, which takes 7 MiB. */
function inWords(seconds: number): string {
  const date = new Date(seconds * 1000)
  return `${weekdays[date.getUTCDay()]}, ${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

function issues(): Issue[] {
  const daily = Array.from({ length: 45 }, (_, index): Issue => {
    const date = firstDay + index * day
    return { kind: 'daily', key: `daily-${iso(date).slice(0, 10)}`, title: inWords(date), date }
  })
  const special = specials.map((name, index): Issue => {
    const date = firstDay + index * 3 * day + day / 2
    return { kind: 'special', key: `special-${slug(name)}-2026`, title: `${name} 2026`, date }
  })
  return [...daily, ...special].sort((left, right) => left.date - right.date)
}

function edition({ kind, key, title, date }: Issue, index: number, bundle: string): Seed {
  const id = index + 1
  const owner = index % 3 === 0 ? 3 : 2
  const createdAt = date - day + 3600
  const full = index % 4 !== 3
  const articleRefs = Array.from({ length: 2 + (index % 5) }, (_, nth) => ({
    target_id: 1 + ((index * 2 + nth) % 120)
  }))
  const fields: Record<string, unknown> = {
    title,
    status: index % 8 !== 7,
    uid: owner,
    revision_uid: owner,
    created: createdAt,
    changed: createdAt + 5400,
    revision_timestamp: createdAt + 5400,
    field_key: key,
    field_publisher_edition_type: kind,
    field_articles: articleRefs,
    field_publication_date: iso(date).slice(0, 10),
    field_labels: kind === 'daily' ? ['print', 'e-paper'] : ['supplement']
  }
  if (full) {
    Object.assign(fields, {
      field_published_at: iso(date + 4 * 3600).slice(0, 19),
      field_expires: date + 30 * day,
      field_description: {
        value: `<p>${kind === 'daily' ? 'The paper of' : 'Our supplement:'} <strong>${title}</strong>.</p>`,
        format: 'basic_html'
      },
      field_link: { uri: `https://paper.example/e/${key}`, title: 'Read the e-paper', options: {} },
      field_section: 1 + (index % sections.length),
      field_featured: index % 8 === 0,
      field_page_count: kind === 'daily' ? 32 + 4 * (index % 5) : 64,
      field_price: kind === 'daily' ? '2.9' : '4.5',
      field_rating: 3 + (index % 4) / 2,
      field_cover: {
        target_id: 1 + (index % covers),
        alt: `Front page of ${title}`,
        title: null,
        width: 1200,
        height: 1600
      },
      field_internal_note: `Deadline ${iso(date - 4 * 3600).slice(11, 16)}, desk ${sections[index % sections.length]}`
    })
  }
  return { type: `publisher_container--${bundle}`, id, uuid: namedUuid(`edition ${key}`), fields }
}

function paper(bundles: Bundle[], bundleOf: (issue: Issue) => string): CmsContent {
  return {
    name: 'The Harbour Courier',
    timeZone: 'Europe/Berlin',
    roles,
    passwords: { admin: 'admin', editor: 'editor', editor2: 'editor2', reader: 'reader' },
    files: Object.fromEntries(
      Array.from({ length: covers }, (_, index) => [
        `covers/cover ${index + 1}.jpg`,
        coverFile(index)
      ])
    ),
    entities: [
      ...users(),
      ...bundleSeeds(bundles),
      ...editionTypeSeeds(allowedValues, bundles),
      ...terms(),
      ...files(),
      ...articles(),
      ...issues().map((issue, index) => edition(issue, index, bundleOf(issue)))
    ]
  }
}

/**
 * The sample site of a newspaper: 60 editions in the bundles `daily` and `special`, 120 articles,
 * sections and covers, some of it unpublished; users admin, editor, editor2 and reader, whose
 * passwords are their names. Every id and uuid is the same in every run.
 */
export const newspaper = (): CmsContent => paper(twoBundles, (issue) => issue.kind)

/**
 * The same paper with a single bundle, `publisher_container`, whose editions are told apart by the
 * list field alone.
 */
export const singleBundleNewspaper = (): CmsContent => paper(oneBundle, () => 'publisher_container')
