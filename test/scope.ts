/**
 * Whether this run takes everything (`npm run test:all` sets TESTS=all), or what a change needs at once (`npm test`): one engine,
 * one content model, a sample of large tables, and fewer generated cases.
 */
export const everything = process.env['TESTS'] === 'all'

/** The first of several variants of a test; all of them in a run that takes everything. */
export function variants<T>(all: readonly T[]): T[] {
  return all.slice(0, everything ? all.length : 1)
}

/** How often a property is checked: so many times, or a tenth of them where not everything runs. */
export function runs(count: number): number {
  return everything ? count : Math.ceil(count / 10)
}

/** Every eighth row of a large table, or one of so many; the whole table in a run that takes everything. */
export function sample<T>(table: readonly T[], step = 8): T[] {
  return table.filter((_row, index) => everything || index % step === 0)
}
