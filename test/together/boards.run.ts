import { load } from './load.ts'

load('test/{boards,idempotency,journal,upserts}/*.test.ts')
