import { Failure } from './errors.ts'

/** A program that works for a user, its principal. It is never that user. */
export interface Agent {
  name: string
  /** The uid of the user that it works for. */
  principal: string
}

/** What the uid of every agent begins with, and of nobody else. */
const MARK = 'agent:'

/** The longest uid that every part of Quoin takes, in characters. */
const UID_MAX = 255

/**
 * The uid of an agent: `agent:<name>:<principal>`, both percent-encoded.
 * @returns undefined where it would be longer than 255 characters
 */
export function agentUid({ name, principal }: Agent): string | undefined {
  const uid = `${MARK}${encodeURIComponent(name)}:${encodeURIComponent(principal)}`
  return uid.length > UID_MAX ? undefined : uid
}

/** Whether a uid is an agent's. */
export function isAgent(uid: unknown): uid is string {
  return typeof uid === 'string' && uid.startsWith(MARK)
}

/**
 * The agent that a uid names; undefined of any other uid.
 * @throws {Failure} BAD_REQUEST for what begins as an agent's uid and is none
 */
export function agentOf(uid: string): Agent | undefined {
  if (!isAgent(uid)) return undefined
  const [name, principal, ...more] = uid.slice(MARK.length).split(':').map(decoded)
  if (!name || !principal || more.length > 0) {
    throw new Failure(
      'BAD_REQUEST',
      `The uid ${JSON.stringify(uid)} begins as that of an agent, so it has to be agent:<name>:<uid of its user>, both percent-encoded`
    )
  }
  return { name, principal }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
