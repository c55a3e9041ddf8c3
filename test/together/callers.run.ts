import { load } from './load.ts'

load('test/{access,auth,bench}/*.test.ts', 'packages/setup/test/*.test.ts')
