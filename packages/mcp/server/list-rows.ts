import { scalarText } from '../../../lib/drupal/document.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Placement } from '../../../lib/editions/schemas.ts'
import type { EditionPage } from '../../../lib/editions/search.ts'
import type { EditionJson } from '../../../lib/editions/translate/edition-json.ts'
import type { LockView } from '../../../lib/locks/schemas.ts'
import { ANSWER_MAX, fittingRows, shortened } from './answer-size.ts'
import { lockRow } from './lock-rows.ts'
import type { ToolCall } from './tool.ts'

/** For what stands beside the rows of a list. */
const HEAD_MAX = 500

/** So many locks, and editions that hold an article, are shown in a row. */
const IN_ROW_MAX = 5

/** What a page of a list is asked for. */
export interface PageArguments {
  q?: string
  published?: boolean
  limit?: number
  offset?: number
}

/** What finds a page, as the service takes it. */
export function searchOf({ q, published, limit = 20, offset = 0 }: PageArguments) {
  return {
    limit,
    offset,
    total: false,
    ...(q !== undefined && { q }),
    ...(published !== undefined && { status: published ? (1 as const) : (0 as const) })
  }
}

/**
 * A page of a list as agents are shown it, with who is at work in each row.
 * @param model of the rows
 * @returns `more` has the arguments of the next page; `locks` is null while the store is away
 */
export async function listAnswer(
  { request, services, agent }: ToolCall,
  page: EditionPage,
  model: ContentModel,
  offset = 0
): Promise<object> {
  const locks = await services.boards.ofRows(page, (entity) => request.may('view', entity))
  const ownUid = agent?.uid ?? request.uid
  const rows = page.editions.map((json, index) => {
    const { id, uuid } = page.rows[index]!
    return {
      id,
      uuid,
      ...summaryOf(JSON.parse(json) as EditionJson, model),
      ...locksIn(locks?.[uuid] ?? [], ownUid),
      ...(page.placed && placedIn(page.placed[uuid] ?? []))
    }
  })
  const shown = fittingRows(rows, ANSWER_MAX - HEAD_MAX)
  const hasMore = page.hasMore || shown.length < rows.length
  return {
    rows: shown,
    ...(page.total !== null && { total: page.total }),
    ...(locks === null && { locks: null }),
    ...(hasMore && { more: { offset: offset + shown.length } })
  }
}

/** What an entity is called, its state, and when it was changed, as far as it shows them. */
export function summaryOf(entity: EditionJson, { keys, fields }: ContentModel): object {
  const members = {
    title: keys.label,
    published: keys.published,
    changed: keys.changed,
    bundle: keys.bundle,
    type: fields.editionType,
    key: fields.key
  }
  return Object.fromEntries(
    Object.entries(members)
      .map(([name, field]) => [name, field === null ? undefined : firstValue(entity, field)])
      .filter(([, value]) => value !== undefined)
  )
}

function firstValue(entity: EditionJson, field: string): unknown {
  const [item] = entity[field] ?? []
  const value = item?.['value'] ?? item?.['target_id']
  return typeof value === 'boolean' ? value : shortened(scalarText(value)) || undefined
}

function locksIn(locks: LockView[], ownUid: string | undefined): object {
  if (locks.length === 0) return {}
  return {
    locks: locks.slice(0, IN_ROW_MAX).map((lock) => lockRow(lock, ownUid)),
    ...moreThan(locks, 'moreLocks')
  }
}

function placedIn(placements: Placement[]): object {
  return {
    placed: placements
      .slice(0, IN_ROW_MAX)
      .map(({ label, ...placement }) => ({ ...placement, title: shortened(label) })),
    ...moreThan(placements, 'morePlaced')
  }
}

function moreThan({ length }: unknown[], name: string): object {
  return length > IN_ROW_MAX ? { [name]: length - IN_ROW_MAX } : {}
}
