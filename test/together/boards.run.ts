import { load } from './load.ts'

load('boards/*.test.ts')
