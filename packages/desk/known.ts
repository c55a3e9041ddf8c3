import { QuoinError } from '../client/src/client.ts'

/** A failure of the service; what else went wrong is a defect of the page and is thrown on. */
export function known (error: unknown): QuoinError {
  if (error instanceof QuoinError) return error
  throw error
}

/** How long to wait before what could not be asked for is asked for again, in milliseconds. */
const AGAIN_MS = 10_000

/**
 * Asks, and asks again for as long as that may help.
 * @param isOver whether nobody wants to know any more
 * @throws what is a defect of the page
 */
export async function persist (ask: () => Promise<void>, isOver: () => boolean): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (known(error).passes) setTimeout(() => { if (!isOver()) persist(ask, isOver) }, AGAIN_MS)
  }
}
