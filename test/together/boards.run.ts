import { load } from './load.ts'

load('{boards,idempotency,upserts}/*.test.ts')
