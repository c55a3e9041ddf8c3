import { load } from './load.ts'

load('{dynamodb,locks,tickets}/*.test.ts')
