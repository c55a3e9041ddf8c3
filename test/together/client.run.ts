import { load } from './load.ts'

load('packages/{client,react,vue}/test/*.test.ts', 'test/app/[i-ln-z]*.test.ts', 'test/app/memories.test.ts')
