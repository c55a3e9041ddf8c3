import type { Client, LockView, Petition, QuoinError } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { say } from './texts.ts'
import { at } from './words.ts'

/** After how long a petition is sent again, in milliseconds: by itself it ends after a minute. */
const AGAIN_MS = 25_000

/** How long somebody else's petition is shown after it was last heard of, in milliseconds. */
const SHOWN_MS = 70_000

/** A petition of this user that is not withdrawn. */
interface OwnPetition {
  since: number
  retry?: ReturnType<typeof setTimeout>
}

/** A petition of somebody else's. */
export interface IncomingPetition extends Petition {
  heardAt: number
  isHidden: boolean
}

export interface PetitionsDeps {
  locks: Pick<Client['locks'], 'ask' | 'withdraw'>
  entity: () => { type: string; id: string }
  /** The uid of who sits here. */
  uid: string
  /** Told of somebody who asks for a field now. */
  onBegin: (petition: Petition) => void
  /** Told why a field is not asked for. */
  onRefuse: (fieldName: string, error: QuoinError) => void
  onChange: () => void
  announce: (text: string) => void
}

export type Petitions = ReturnType<typeof createPetitions>

/** What this user asks the holders of fields for, and what others ask them for. */
export function createPetitions({
  locks,
  entity,
  uid,
  onBegin,
  onRefuse,
  onChange,
  announce
}: PetitionsDeps) {
  const mine = new Map<string, OwnPetition>()
  let others: IncomingPetition[] = []
  const what = (fieldName: string) => ({ ...entity(), fieldName })

  async function send(fieldName: string, own: OwnPetition): Promise<void> {
    try {
      await locks.ask(what(fieldName))
      if (mine.get(fieldName) === own) own.retry = setTimeout(send, AGAIN_MS, fieldName, own)
      else if (!mine.has(fieldName)) sendWithdrawal(fieldName)
    } catch (error) {
      const failure = failureOf(error)
      if (mine.get(fieldName) !== own) return
      forget(fieldName)
      // Where nobody has it any more, the board says so.
      if (failure.code !== 'FIELD_NOT_LOCKED') onRefuse(fieldName, failure)
      onChange()
    }
  }

  /** A petition that could not be withdrawn ends by itself. */
  function sendWithdrawal(fieldName: string): void {
    locks.withdraw(what(fieldName)).catch(failureOf)
  }

  function forget(fieldName: string): void {
    clearTimeout(mine.get(fieldName)?.retry)
    mine.delete(fieldName)
  }

  function withdraw(fieldName: string): void {
    if (!mine.has(fieldName)) return
    forget(fieldName)
    sendWithdrawal(fieldName)
    onChange()
  }

  return {
    /** Since when this user asks for a field, in seconds. */
    since: (fieldName: string): number | undefined => mine.get(fieldName)?.since,
    /** Those who ask for a field of this user's, and have not been put off. */
    of: (fieldName: string): IncomingPetition[] =>
      others.filter(
        (one) => one.fieldName === fieldName && !one.isHidden && Date.now() - one.heardAt < SHOWN_MS
      ),

    ask(fieldName: string): void {
      if (mine.has(fieldName)) return
      const own = { since: Date.now() / 1000 }
      mine.set(fieldName, own)
      announce(say('askedAt', { time: at(own.since, Date.now()) }))
      send(fieldName, own)
      onChange()
    },

    withdraw,

    /** Shows a petition no more, however often it is sent again. */
    putOff(petition: IncomingPetition): void {
      petition.isHidden = true
      onChange()
    },

    /** What a feed says of a petition. */
    hear(petition: Petition): void {
      const { type, id } = entity()
      if (
        petition.entityType !== type ||
        petition.entityId !== id ||
        petition.userData.uid === uid
      ) {
        return
      }
      const before = others.find(
        ({ fieldName, userData }) =>
          fieldName === petition.fieldName && userData.uid === petition.userData.uid
      )
      others = others.filter((one) => one !== before)
      if (petition.until > 0) {
        others.push({ ...petition, heardAt: Date.now(), isHidden: before?.isHidden ?? false })
      }
      if (petition.until > 0 && !before) onBegin(petition)
      onChange()
    },

    /**
     * The locks of the entity now: what nobody else holds is asked for no longer. Unless withdrawn,
     * the petition would be told to the next holder.
     */
    board(present: LockView[]): void {
      for (const fieldName of mine.keys()) {
        if (!present.some((lock) => lock.fieldName === fieldName && lock.userData.uid !== uid)) {
          withdraw(fieldName)
        }
      }
    },

    /** The page goes: all that is asked for is withdrawn. */
    end: () => [...mine.keys()].forEach(withdraw)
  }
}

/**
 * Lets the withdrawal of a petition and the end of a presence arrive although the page is closed.
 */
export function outlive(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return (address, init) =>
    fetch(
      address,
      init?.method === 'DELETE' && /\/(?:requests|presence)\?/.test(String(address))
        ? { ...init, keepalive: true }
        : init
    )
}
