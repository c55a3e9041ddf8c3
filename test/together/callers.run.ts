import { load } from './load.ts'

load('{access,auth,bench,doctor}/*.test.ts')
