import { load } from './load.ts'

load('test/editions/[a-m]*.test.ts', 'test/desk/*.test.ts')
