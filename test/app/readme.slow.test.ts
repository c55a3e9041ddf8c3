import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { needsDynoxide } from '../locks/fixtures/engines.ts'
import { DEV, ROOT, runNode } from './fixtures/processes.ts'

const run = promisify(execFile)
const needsCurl = { skip: needsDynoxide.skip || (spawnSync('curl', ['--version']).error !== undefined && 'there is no curl here') }

/** README's commands for curl, in their order, and what each is said to answer. */
function steps (): Array<{ command: string, answer: RegExp | undefined }> {
  const section = /^## Two minutes with curl\n(.*?)^## /ms.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))![1]!
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block!.replace(/\\\n/g, '').trim().split('\n')).reduce((list, line) => {
    if (line.startsWith('#')) list.at(-1)!.answer = answerOf(line)
    else list.push({ command: line, answer: undefined })
    return list
  }, [] as ReturnType<typeof steps>)
}

/** What a comment behind a command says of its answer: a status where one is named, and a body in which `...` is left out. */
function answerOf (comment: string): RegExp {
  const [, status, body] = /^# (?:(\d{3}) )?(.*)$/.exec(comment)!
  return new RegExp(`${body!.split('...').map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}\\n${status ?? '200'}$`)
}

t.test("README's two minutes with curl go as they are told", needsCurl, async (t) => {
  const { says } = runNode(t, DEV, { env: { PORT: '0' } })
  const [, url] = await says(/(http:\/\/127\.0\.0\.1:\d+)\/desk/) as unknown as [string, string]
  const commands = steps().filter(({ command }) => command.startsWith('curl'))
  t.equal(commands.length, 10)
  for (const { command, answer } of commands) {
    const { stdout } = await run('bash', ['-c', `${command} -s -w '\\n%{http_code}'`], { env: { ...process.env, Q: url } })
    t.match(stdout, answer ?? /\n200$/, command)
  }
})
