import { load } from './load.ts'

load('client/*.test.ts', 'app/[i-ln-z]*.test.ts', 'app/memories.test.ts')
