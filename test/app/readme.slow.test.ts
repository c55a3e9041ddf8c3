import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { needsDynoxide } from '../locks/fixtures/engines.ts'
import { DEV, emptyDirectory, ROOT, runNode } from './fixtures/processes.ts'

const run = promisify(execFile)
const needsCurl = { skip: needsDynoxide.skip || (spawnSync('curl', ['--version']).error !== undefined && 'there is no curl here') }

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** A document's commands for curl, in their order, and what each is said to answer. */
function steps(section: string): Array<{ command: string; answer: RegExp | undefined }> {
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block]) => block!.replace(/\\\n/g, '').trim().split('\n'))
    .reduce(
      (list, line) => {
        if (line.startsWith('#')) list.at(-1)!.answer = answerOf(line)
        else list.push({ command: line, answer: undefined })
        return list
      },
      [] as ReturnType<typeof steps>
    )
}

/** What a comment behind a command says of its answer: a status where one is named, and a body in which `...` is left out. */
function answerOf(comment: string): RegExp {
  const [, status, body] = /^# (?:(\d{3}) )?(.*)$/.exec(comment)!
  return new RegExp(
    `${body!
      .split('...')
      .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}\\n${status ?? '200'}$`
  )
}

/** A variable that later commands use, made of an answer. */
const ASSIGNMENT = /^([A-Z]+)=(?:\S*)\$\(/

const curls = (text: string) => steps(text).filter(({ command }) => command.startsWith('curl') || ASSIGNMENT.test(command))

t.test("README's two minutes with curl and the other pages go as they are told, twice in the same folder", needsCurl, async (t) => {
  const cwd = emptyDirectory(t)
  const readme = curls(/^## Two minutes with curl\n(.*?)^## /ms.exec(read('README.md'))![1]!)
  t.equal(readme.length, 10)
  const pages = ['docs/day.md', 'docs/lists.md', 'docs/editions.md', 'docs/journal.md'].map((page) => curls(read(page)))
  for (const commands of pages) t.ok(commands.length > 0)
  for (const life of [1, 2]) await t.test(`life ${life}`, async (t) => follow(t, cwd, [readme, ...pages]))
})

/** Runs commands before `npm run dev` as one starts it; an event stream (`curl -N`) ends once it has begun. */
async function follow(t: Test, cwd: string, pages: Array<ReturnType<typeof steps>>): Promise<void> {
  const { says } = runNode(t, DEV, { env: { PORT: '0' }, cwd })
  const [, url] = (await says(/(http:\/\/127\.0\.0\.1:\d+)\/desk/)) as unknown as [string, string]
  const env = { ...process.env, Q: url }
  for (const { command, answer } of pages.flat()) {
    const name = ASSIGNMENT.exec(command)?.[1]
    if (name !== undefined) {
      const { stdout } = await run('bash', ['-c', `${command}; printf %s "$${name}"`], { env })
      t.match(stdout, /^[\w-]+$/, command)
      Object.assign(env, { [name]: stdout })
      continue
    }
    const isStream = /^curl -N /.test(command)
    const limited = isStream ? `${command} --max-time 2 || [ $? -eq 28 ]` : command
    const { stdout } = await run('bash', ['-c', limited.replace(/^curl/, "curl -s -w '\\n%{http_code}'")], { env })
    t.match(stdout, answer ?? (isStream ? /^event: snapshot$/m : /\n20[01]$/), command)
  }
}
