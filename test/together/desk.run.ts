import { load } from './load.ts'

load('desk/*.test.ts')
