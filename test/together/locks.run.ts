import { load } from './load.ts'

load('locks/*.test.ts')
