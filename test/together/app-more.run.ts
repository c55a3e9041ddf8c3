import { load } from './load.ts'

load('app/[i-ln-z]*.test.ts')
