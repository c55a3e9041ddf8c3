import { load } from './load.ts'

load('{boards,idempotency}/*.test.ts')
