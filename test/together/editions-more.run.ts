import { load } from './load.ts'

load('test/editions/[n-z]*.test.ts')
