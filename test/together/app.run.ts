import { load } from './load.ts'

load('app/[a-h]*.test.ts')
