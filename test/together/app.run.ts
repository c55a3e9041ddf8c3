import { load } from './load.ts'

load('app/[!m]*.test.ts')
