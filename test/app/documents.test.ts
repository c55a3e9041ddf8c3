import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { contentModel, ContentModel } from '../../lib/editions/site/model.ts'
import { ROOT } from './fixtures/processes.ts'

const documents = globSync(['*.md', 'docs/**/*.md', 'test/**/README.md'], { cwd: ROOT, exclude: (name) => name === 'node_modules' || name === 'site' })
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Without blocks of code, in which a bracket is no link. */
const prose = (text: string) => text.replace(/^ *```.*?^ *```$/gms, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]]/g, ' '))

/** The anchors of a document's headings, as the hosts of repositories make them. */
function anchorsOf (path: string): string[] {
  return [...prose(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading!.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'))
}

t.test('every link between the documents leads to a file, and to a heading where it names one', async (t) => {
  t.ok(documents.length > 20)
  for (const document of documents) {
    for (const [, link] of prose(read(document)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link!)) continue
      const [file, anchor] = link!.split('#') as [string, string?]
      const path = file === '' ? document : join(dirname(document), file)
      if (!existsSync(join(ROOT, path))) t.fail(`${document} has a link to ${link}, which does not exist`)
      else if (anchor !== undefined && !anchorsOf(path).includes(anchor)) t.fail(`${document} has a link to ${link}, but there is no such heading`)
    }
  }
})

t.test('every page of docs/ can be reached from README', async (t) => {
  const reached = new Set<string>()
  const open = ['README.md']
  for (const document of open) {
    if (reached.has(document)) continue
    reached.add(document)
    for (const [, link] of prose(read(document)).matchAll(/\]\(([^)\s#]+\.md)[^)\s]*\)/g)) if (!/^https?:/.test(link!)) open.push(join(dirname(document), link!))
  }
  t.strictSame(documents.filter((document) => !reached.has(document)), [])
})

t.test('README is read in two minutes', async (t) => {
  t.ok(read('README.md').split('\n').length <= 150)
})

t.test('the commands that the documents name are there', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const document of documents) {
    const text = read(document)
    for (const [, script] of text.matchAll(/\bnpm run ([\w:]+)/g)) t.ok(scripts[script!], `${document}: npm run ${script}`)
    for (const [, file] of text.matchAll(/\bdocker run .* quoin node (\S+)/g)) t.ok(statSync(join(ROOT, file!)).isFile(), `${document}: ${file}`)
  }
})

t.test('the example of a content model has every member, and the table says what each is', async (t) => {
  const page = read('docs/content-model.md')
  const example: object = JSON.parse(/^```json\n(.*?)^```$/ms.exec(page)![1]!)
  const members = Object.keys(ContentModel.properties)
  t.strictSame(Object.keys(example).sort(), members.toSorted())
  t.match(contentModel(example), example)
  t.strictSame([...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, member]) => member), members)
})
