import { QuoinError } from '../lib/client/client.ts'

/** A failure of the service; what else went wrong is a defect of the page and is thrown on. */
export function known (error: unknown): QuoinError {
  if (error instanceof QuoinError) return error
  throw error
}
