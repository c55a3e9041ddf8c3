/**
 * After this many beats without an answer the bus is down, and after as many without one of its own
 * a peer is silent.
 */
export const PATIENCE = 3

/**
 * So many beats, one after the other, make a peer. One that was invented, or heard once, is none.
 */
const ACQUAINTED = 3

/** Most names that are remembered. */
const MOST = 1000

interface Peer {
  beats: number
  heardAt: number
  isSilent: boolean
}

/** The other instances that are heard on the bus. */
export interface Peers {
  beatMs: number
  /** So long a silent peer is waited for, in milliseconds. */
  forgetMs: number
  byName: Map<string, Peer>
}

export function createPeers(beatMs: number, forgetMs: number): Peers {
  return { beatMs, forgetMs, byName: new Map() }
}

/** A beat of a peer was heard. Beats that come in one heap count once. */
export function hearBeat({ beatMs, byName }: Peers, name: string): void {
  const now = performance.now()
  const peer = byName.get(name)
  if (!peer) {
    if (byName.size < MOST) byName.set(name, { beats: 1, heardAt: now, isSilent: false })
    return
  }
  if (now - peer.heardAt > beatMs / 2) peer.beats++
  peer.heardAt = now
}

/** A peer has said that it leaves: its silence means nothing. */
export function hearGoodbye({ byName }: Peers, name: string): void {
  byName.delete(name)
}

/** This instance hears again after it was cut off itself: who is silent shows only from now on. */
export function listenAnew({ byName }: Peers): void {
  for (const peer of byName.values()) if (!peer.isSilent) peer.heardAt = performance.now()
}

/**
 * Looks who has fallen silent, and forgets those that have been so for long.
 * @returns how many are silent
 */
export function countSilent({ beatMs, forgetMs, byName }: Peers): number {
  const now = performance.now()
  let silent = 0
  for (const [name, peer] of byName) {
    const silentMs = now - peer.heardAt
    peer.isSilent = silentMs > PATIENCE * beatMs
    const isForgotten = silentMs > forgetMs || (peer.isSilent && peer.beats < ACQUAINTED)
    if (isForgotten) byName.delete(name)
    else if (peer.isSilent) silent++
  }
  return silent
}
