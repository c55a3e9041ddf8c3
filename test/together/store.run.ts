import { load } from './load.ts'

load('{bus,dynamodb,tickets}/*.test.ts')
