/** What a page shows of Quoin, kept up to date: for any framework. */

export { liveBoard, type BoardState, type Followed, type Follower } from './live-board.ts'
export {
  liveEdition,
  type EditionClient,
  type EditionState,
  type LiveEdition
} from './live-edition.ts'
export {
  liveLock,
  type LiveLock,
  type LockClient,
  type LockState,
  type ShownLock
} from './live-lock.ts'
export {
  liveOthers,
  type OthersClient,
  type OthersOptions,
  type OthersState
} from './live-others.ts'
export type { Live } from './live-state.ts'
