import { load } from './load.ts'

load('{dynamodb,tickets}/*.test.ts')
