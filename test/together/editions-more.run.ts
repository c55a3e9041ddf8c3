import { load } from './load.ts'

load('editions/[n-z]*.test.ts')
