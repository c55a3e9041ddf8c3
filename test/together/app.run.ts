import { load } from './load.ts'

// The first test of metrics.test.ts looks at what the process has loaded.
load('app/metrics.test.ts', 'app/[a-h]*.test.ts')
