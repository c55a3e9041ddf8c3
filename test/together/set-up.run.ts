import { load } from './load.ts'

load('{doctor,bench}/*.test.ts')
