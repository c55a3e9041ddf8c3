// What `@quoin/desk/model` exports: the half of the desk that needs no DOM. Each part takes what it
// needs from its caller, so it works in a page, in a worker and in Node.

export { createClosing, type Closing, type ClosingDeps } from './page/closing.ts'
export {
  createDraftStorage,
  type Disk,
  type DiskFailure,
  type DraftStorage,
  type DraftStorageDeps,
  type EditorDraft,
  type Kept,
  type OldStorage,
  type Place,
  type StoredDraft
} from './page/draft-storage.ts'
export { createDrafts, isAtRisk, type DraftsDeps } from './page/drafts.ts'
export { createSession, type Session, type SessionDeps } from './page/edition.ts'
export { createField, type Displacement, type Field, type FieldDeps } from './page/field.ts'
export { groupsOf, shapesOf, tokensOf, type Kind, type Shape } from './page/fields.ts'
export {
  createFinder,
  type Finder,
  type FinderDeps,
  type Looks,
  type SearchResult
} from './page/finder.ts'
export { createForbidden, type Forbidden } from './page/forbidden.ts'
export { createHistory, type Step, type Turn } from './page/history.ts'
export type { LoadJournal } from './page/journal-door.ts'
export { createLabels, type Labels } from './page/labels.ts'
export { fit, rebase, settle, type Edited, type MergeResult } from './page/merge.ts'
export type { Notice } from './page/notice.ts'
export {
  apply,
  applied,
  indexOf,
  insertAt,
  isSameArticle,
  unmovedOf,
  moveTo,
  removeAt,
  spotOf,
  type Spot
} from './page/operations.ts'
export { createOrder, type Order, type OrderDeps } from './page/order.ts'
export {
  createPetitions,
  type IncomingPetition,
  type Petitions,
  type PetitionsDeps
} from './page/petitions.ts'
export { createPresence, type PresenceDeps } from './page/presence.ts'
export type { LoadProposals } from './page/proposals-door.ts'
export { createSamples, type Samples } from './page/samples.ts'
export {
  entityOf,
  lockIdOf,
  valueOf,
  type Edition,
  type Item,
  type Model,
  type Settings
} from './page/settings.ts'
export { useLanguage } from './page/texts.ts'
export { useZone } from './page/words.ts'
