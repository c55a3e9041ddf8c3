import { load } from './load.ts'

// The first test of metrics.test.ts looks at what the process has loaded.
load('test/app/metrics.test.ts', 'test/app/[a-h]*.test.ts')
