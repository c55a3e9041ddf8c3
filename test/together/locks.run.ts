import { load } from './load.ts'

load('{locks,dynamodb}/*.test.ts')
