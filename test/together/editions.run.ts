import { load } from './load.ts'

load('editions/[a-m]*.test.ts', 'desk/*.test.ts')
