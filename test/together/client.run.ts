import { load } from './load.ts'

load('client/*.test.ts')
