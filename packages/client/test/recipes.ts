import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { ROOT } from '../../../test/app/fixtures/processes.ts'

/** The blocks of code on the page about the client, and in the client's README. */
export function recipes(path = 'docs/client.md'): string[] {
  const page = readFileSync(join(ROOT, path), 'utf8')
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!)
}

/** Runs the block that has these words, with what it takes as given, and without what it imports and exports. */
export async function run(words: string, given: Record<string, unknown>): Promise<void> {
  const block = [...recipes(), ...recipes('packages/client/README.md')].find((recipe) => recipe.includes(words))!
  const { code } = await transform(block.replaceAll(/^import .*\n|^export (?=const )/gm, ''), { loader: 'ts' })
  const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => (...values: unknown[]) => Promise<void>
  await new AsyncFunction(...Object.keys(given), code)(...Object.values(given))
}
