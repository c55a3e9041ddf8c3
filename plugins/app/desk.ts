import type { FastifyInstance } from 'fastify'

/**
 * Loads the desk, a package of its own, which nothing else of the service needs.
 * @returns its plugin, or undefined where the package is not there, which is logged
 */
export async function loadDesk({ log }: FastifyInstance) {
  try {
    return (await import('../../packages/desk/server/desk.ts')).default
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND') throw error
    log.warn(`DESK=on, but Quoin starts without the desk, which is not installed: ${message}`)
    return undefined
  }
}
