import type { Item } from './content.ts'
import type { FailureCode, Finding, Holder, LockView } from './wire.ts'

/** What the CMS has against a value. */
export interface Violation {
  /** Such as `field_page_count.0.value`. */
  path: string
  message: string
}

/** What a failure of an edition says besides, by its code. */
export interface EditionDetails {
  FIELD_LOCKED: {
    /** Who holds which of the fields. */
    locks: LockView[]
  }
  NOT_READY: {
    /** What keeps the edition from being closed. */
    blockers: Finding[]
    warnings: Finding[]
  }
  ORDER_CONFLICT: {
    /** The present running order, as the items of its field. */
    order: Item[]
  }
  UNPROCESSABLE: {
    /** Absent where the failure is not about single values. */
    violations?: Violation[]
  }
}

/** What a failure of a lock says besides, by its code. */
export interface LockDetails {
  FIELD_LOCKED: {
    /** Who holds the field. */
    lock: Holder
  }
  FORBIDDEN: {
    /** Whose lock it is that the user may not release. */
    lock?: Holder
  }
  LOCK_CHANGED: {
    /** Who holds the field now, if anybody does. */
    lock?: Holder
  }
  STORE_FAILED: {
    /** Of a release of several: the fields that are not released. */
    failed?: string[]
  }
  STORE_UNAVAILABLE: {
    /** Of a release of several: the fields that are not released. */
    failed?: string[]
  }
}

type DetailsOf<Table, Code> = Code extends keyof Table ? Table[Code] : unknown

/** The body of a failure of an edition. */
export type EditionFailure<Code extends FailureCode = FailureCode> = {
  success?: never
  message: string
  statusCode: number
  /** The status in words. */
  error: string
  code: Code
  /** Of an edition whose write has an unknown outcome, or which is in the way. */
  uuid?: string
} & DetailsOf<EditionDetails, Code>

/** The body of a failure of a lock. */
export type LockFailure<Code extends FailureCode = FailureCode> = {
  success: false
  message: string
  error: { name: string; code: Code; message: string } & DetailsOf<LockDetails, Code>
  /** These are of an edition's. */
  uuid?: never
} & { [Name in keyof DetailsOf<EditionDetails, Code>]?: never }

/** Failures that only editions have, and those that only locks have. */
type OfEditions = Exclude<keyof EditionDetails, keyof LockDetails>
type OfLocks = 'LOCK_CHANGED' | 'FIELD_NOT_LOCKED'

/**
 * The body of an error with this code. The client itself makes LOCK_CHANGED of a lock that was
 * released, without a body; INVALID_RESPONSE is not Quoin's, so its body may be anything.
 */
export type ErrorBody<Code> = Code extends OfEditions
  ? EditionFailure<Code>
  : Code extends 'LOCK_CHANGED'
    ? LockFailure<Code> | undefined
    : Code extends OfLocks
      ? LockFailure<Code>
      : Code extends FailureCode
        ? EditionFailure<Code> | LockFailure<Code>
        : Code extends 'UNREACHABLE'
          ? undefined
          : unknown
