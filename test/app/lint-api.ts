import { documents, lint } from './fixtures/redocly.ts'

// npm run lint:api
const { isClean, report } = await lint(await documents())
console.log(report)
process.exitCode = isClean ? 0 : 1
