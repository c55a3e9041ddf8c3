import { load } from './load.ts'

load('test/locks/*.test.ts', 'packages/mcp/test/*.test.ts')
