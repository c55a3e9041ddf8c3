import type { Page } from '../translate/query.ts'

/** A collection whose rows come by descending id, in pages cut before access is checked. */
export type Source<Row> = (offset: number, limit: number, purpose: 'rows' | 'count') => Promise<Page<Row>>
