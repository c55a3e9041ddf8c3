import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { buildPage } from './server/build-page.ts'

// `node packages/desk/build.ts <file>`: writes the built page, so that a service can serve it
// without esbuild.

const [file] = process.argv.slice(2)
if (!file) {
  throw new Error('Name the file to write the built page to: node packages/desk/build.ts <file>')
}
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, JSON.stringify(await buildPage()))
