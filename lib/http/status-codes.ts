/**
 * The reason phrase of each HTTP status. Not imported where it is needed: with the names of
 * node:http Node loads its own undici too, a tenth of the start.
 */
export const { STATUS_CODES } = process.getBuiltinModule('node:http')
