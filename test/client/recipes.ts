import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { ROOT } from '../app/fixtures/processes.ts'

/** The blocks of code on the page about the client. */
export function recipes (): string[] {
  const page = readFileSync(join(ROOT, 'docs/client.md'), 'utf8')
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!)
}

/** Runs the block that has these words, with what it takes as given. */
export async function run (words: string, given: Record<string, unknown>): Promise<void> {
  const { code } = await transform(recipes().find((recipe) => recipe.includes(words))!, { loader: 'ts' })
  const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => (...values: unknown[]) => Promise<void>
  await new AsyncFunction(...Object.keys(given), code)(...Object.values(given))
}
