import { load } from './load.ts'

load('{access,auth}/*.test.ts')
