import { load } from './load.ts'

load('test/editions/[a-m]*.test.ts', 'packages/desk/test/*.test.ts')
