import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { ROOT } from '../../../test/app/fixtures/processes.ts'

const DESK = join(ROOT, 'packages/desk')

/** The modules that the model is made of, from packages/desk. */
async function modules(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [join(DESK, 'model.ts')],
    absWorkingDir: DESK,
    bundle: true,
    write: false,
    metafile: true
  })
  return Object.keys(metafile.inputs)
}

t.test('what other UIs import as the model has no view in it, and nothing that draws one', async (t) => {
  const inputs = await modules()
  for (const name of [
    'field',
    'order',
    'operations',
    'history',
    'drafts',
    'merge',
    'closing',
    'finder',
    'petitions',
    'presence',
    'edition'
  ]) {
    t.ok(inputs.includes(`page/${name}.ts`), name)
  }
  // tsc checks packages/desk/*.ts, and what they import, without the types of a DOM: see tsconfig.json.
  const { compilerOptions, include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'))
  t.strictSame([compilerOptions.lib, compilerOptions.types], [['es2024'], ['node']])
  t.ok(include.includes('packages/desk/*.ts'))
  t.strictSame(
    inputs.filter((path) => /-view\.ts$|lit-html|prosemirror|page\/(?:ui|main|focus|press|drag|disk)\.ts$/.test(path)),
    []
  )
})

t.test('the parts of the model and their neighbours never name a document or a window of their own', async (t) => {
  const sources = (await modules()).filter((path) => path.startsWith('page/'))
  const DOM = /\b(?:document|navigator|location|sessionStorage)\b|\bnew (?:Event|CustomEvent)\b/
  const codeOf = (path: string) => readFileSync(join(DESK, path), 'utf8').replaceAll(/\/\*[^]*?\*\/|\/\/.*$|'[^'\n]*'/gm, '')
  t.ok(sources.length > 30)
  for (const path of sources) t.notMatch(codeOf(path), DOM, path)
  t.match(codeOf('page/main.ts'), DOM, 'what looks for them finds them elsewhere')
})
