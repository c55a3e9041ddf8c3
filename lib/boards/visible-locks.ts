import type { ContentModel } from '../editions/model.ts'
import { forEach } from '../for-each.ts'
import type { Batch, FeedEvent } from '../locks/feed-events.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import { withoutLanguage } from './names.ts'

/** Whether a caller may view an entity. */
export type MayView = (entity: Entity) => Promise<boolean>

/** A lock, a sign or a save, as far as it says what it is on. */
type Subject = Pick<LockView, 'entityType' | 'entityId'>

/** The locks and signs on entities that may be viewed. Each entity is asked about once. */
export async function visibleLocks<One extends Subject>(
  subjects: One[],
  mayView: MayView,
  model: ContentModel
): Promise<One[]> {
  const byEntity = Map.groupBy(subjects, (subject) => {
    const { type, id } = entityOf(subject, model)
    return `${type}-${id}`
  })
  const hiddenSubjects = new Set<One>()
  await forEach([...byEntity.values()], async (subjects) => {
    if (!(await mayView(entityOf(subjects[0]!, model)))) {
      for (const subject of subjects) hiddenSubjects.add(subject)
    }
  })
  return subjects.filter((subject) => !hiddenSubjects.has(subject))
}

/**
 * The part of a batch that may be shown: the batch itself if all of it may be, undefined if nothing
 * may be.
 */
export async function visibleBatch(
  batch: Batch,
  mayView: MayView | undefined,
  model: ContentModel
): Promise<Batch | undefined> {
  if (!mayView) return batch
  const batchSubjects = batch.flatMap((event) =>
    event.event === 'snapshot' ? event.locks : (subjectOf(event) ?? [])
  )
  const subjects = await visibleLocks(batchSubjects, mayView, model)
  if (subjects.length === batchSubjects.length) return batch
  const visibleEvents = batch
    .filter((event) => !subjectOf(event) || subjects.includes(subjectOf(event)!))
    .map((event) =>
      event.event === 'snapshot'
        ? { ...event, locks: event.locks.filter((lock) => subjects.includes(lock)) }
        : event
    )
  return visibleEvents.length > 0 ? visibleEvents : undefined
}

/** The entity of a lock or a sign, in whatever language. */
function entityOf({ entityType, entityId }: Subject, model: ContentModel): Entity {
  return withoutLanguage({ type: entityType, id: entityId }, model)
}

/**
 * What one event is about; undefined for a snapshot, and for an event that is about no single lock,
 * sign or save.
 */
function subjectOf(event: FeedEvent) {
  if ('lock' in event) return event.lock
  if ('petition' in event) return event.petition
  if ('proposal' in event) return event.proposal
  if ('saved' in event) return event.saved
  return 'presence' in event ? event.presence : undefined
}
