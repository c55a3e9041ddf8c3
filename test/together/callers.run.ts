import { load } from './load.ts'

load('test/{access,auth,bench,doctor}/*.test.ts')
