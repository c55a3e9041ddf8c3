import { load } from './load.ts'

load('{boards,idempotency,journal,upserts}/*.test.ts')
