import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type OutputFile } from 'esbuild'
import { buildElements } from './build-elements.ts'
import { hashOf, LANGUAGES, nameWith, type BuiltPage, type Language } from './built-page.ts'
import { linkScripts, options, PAGE, textsOf } from './bundling.ts'

/**
 * Where the files are, as seen from the page: all addresses are relative, so that it works wherever
 * /desk is served.
 */
const FILES = 'desk/files/'

/** The scripts that the page loads. `main.js` only imports the page's. */
const SCRIPT = /(?<![\\/]main)\.js$/

/** What esbuild makes of the modules. */
interface Bundles {
  styles: string
  worker: ScriptFile
  /** The script that the page has in it. */
  early: string
  scripts: LanguageScripts[]
}

interface ScriptFile {
  name: string
  text: string
}

/**
 * One script of the page's modules, the client and lit-html, and another of each module that is
 * imported when it is needed.
 */
interface LanguageScripts {
  language: Language
  outputFiles: OutputFile[]
  /** The name of the page's script among them. */
  page: string
}

/**
 * Builds the page: bundles its modules, gives the files their names, and puts the names into the
 * page.
 */
export async function buildPage(): Promise<BuiltPage> {
  const [{ styles, worker, early, scripts }, elements] = await Promise.all([
    bundle(),
    buildElements()
  ])
  const icon = readFileSync(join(PAGE, 'icon.svg'), 'utf8')
  const iconName = nameWith(hashOf(icon), 'icon.svg')
  const styleName = nameWith(hashOf(styles), 'desk.css')
  const languages = scripts.map(({ language, outputFiles, page }) => {
    const scripts = outputFiles.filter(({ path }) => SCRIPT.test(path))
    const { files, names } = linkScripts(scripts, (name) =>
      name === page ? 'desk.js' : name.replace(/-\w+\.js$/, '.js')
    )
    const places = { 'desk.css': styleName, 'main.ts': names[page]! }
    return { files, page: [language, htmlOf(language, { early, icon, names: places })] as const }
  })
  return {
    pages: Object.fromEntries(languages.map(({ page }) => page)) as Record<Language, string>,
    inlineHash: `'sha256-${createHash('sha256').update(early).digest('base64')}'`,
    files: Object.assign(
      { [iconName]: icon, [styleName]: styles, [worker.name]: worker.text },
      elements.files,
      ...languages.map(({ files }) => files)
    ),
    elements: elements.script,
    icon: iconName
  }
}

async function bundle(): Promise<Bundles> {
  const worker = await bundleWorker()
  const [styles, early, ...scripts] = await Promise.all([
    build({ ...options, entryPoints: [join(PAGE, 'desk.css')] }),
    build({ ...options, entryPoints: [join(PAGE, 'early.ts')], format: 'iife' }),
    ...LANGUAGES.map((language) => bundleScripts(language, worker.name))
  ])
  return {
    styles: styles.outputFiles[0]!.text,
    worker,
    early: early.outputFiles[0]!.text.trim(),
    scripts
  }
}

/** The script of the worker, which the page starts by its name. */
async function bundleWorker(): Promise<ScriptFile> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(PAGE, 'worker.ts')],
    format: 'iife'
  })
  const { text } = outputFiles[0]!
  return { name: nameWith(hashOf(text), 'worker.js'), text }
}

async function bundleScripts(language: Language, workerName: string): Promise<LanguageScripts> {
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: [join(PAGE, 'main.ts')],
    // Code that scripts share would become a script of its own, and one more request. This way they
    // share the page's script.
    inject: [join(PAGE, 'main.ts')],
    splitting: true,
    format: 'esm',
    define: { STREAMS_WORKER: JSON.stringify(workerName) },
    plugins: [textsOf(language)]
  })
  return { language, outputFiles, page: metafile.outputs['main.js']!.imports[0]!.path }
}

/** The page in a language. */
function htmlOf(
  language: Language,
  { early, icon, names }: { early: string; icon: string; names: Record<string, string> }
): string {
  // So small a picture comes with the page.
  const picture = `data:image/svg+xml,${encodeURIComponent(icon)}`
  return readFileSync(join(PAGE, 'index.html'), 'utf8')
    .replace(`${FILES}desk/icon.svg`, () => picture)
    .replace('<script></script>', () => `<script>${early}</script>`)
    .replaceAll(/desk\/files\/desk\/([\w.]+)/g, (_, name: string) => FILES + names[name]!)
    .replace('lang="en"', `lang="${language}"`)
}
