import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ROOT } from './fixtures/processes.ts'

/** A loop, or a function: its first line without the indentation, and the lines in it. */
interface Block {
  head: string
  body: string
  line: number
}

const LOOP = /^(?:for|while|do)\b/
const FUNCTION = /^(?:export )?(?:async )?function (\w+)/
/** A loop that nothing in its head ends. One that counts its tries in its body has a bound. */
const ENDLESS = /^for \([^;]*;\s*;|^(?:while|do) .*\((?:true|1)\)/
const ASYNC = /\bawait\b|\byield\b|\.then\(/
/** A loop, or a function, that counts its tries. */
const COUNTED = /\b(?:count|tries|attempts) (?:<=?|>=?|===) \w*[A-Z_]{4,}\b/
/** A call that passes the number of tries, or what is left of them. */
const COUNTING = /\b\w+ [+-] 1\)/
/** Where a retry is one of a write to the table, or of something like it: the others go to the CMS, and a call's time and requests are limited (lib/editions/limits.ts). */
const PAUSES = /^(?:lib\/(?:bus|locks|saves|table)\/|packages\/setup\/table\/|x\.ts$)/
/** Functions that call themselves with less to do each time, or once with something else. */
const SHRINKING = new Set([
  'lib/editions/lookup/contents.ts requestContents',
  'lib/editions/lookup/labels.ts requestLabels',
  'lib/editions/lookup/list-looks.ts requestLooks',
  'lib/editions/site/filters.ts page',
  // Joins the write that is under way, and makes the next one of all that waits.
  'packages/client/src/held.ts flush',
  // Only where somebody else has read or saved the edition meanwhile.
  'packages/desk/page/edition.ts load',
  'packages/desk/page/finder.ts ask',
  'packages/desk/page/journal-titles.ts look',
  'packages/desk/page/order.ts flush'
])
const PAUSE = /await (?:\w+\.)?(?:pause|wait|sleep)\(/

/** The blocks of a text whose first line matches. The house's indentation tells where they end. */
function blocksOf(text: string, pattern: RegExp): Block[] {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const head = line.trimStart()
    if (!pattern.test(head)) return []
    const indent = line.slice(0, line.length - head.length)
    const isOpen = line.endsWith('{') || line.endsWith('(')
    const end = isOpen
      ? lines.findIndex((other, at) => at > index && /^[})]/.test(other.slice(indent.length)) && other.startsWith(indent))
      : index
    const last = lines[end] ?? ''
    const until = head.startsWith('do ') ? ` ${last.trimStart().slice(2)}` : ''
    return [
      {
        head: head + until,
        body: lines.slice(isOpen ? index + 1 : index, end === index ? index + 1 : end).join('\n') + until,
        line: index + 1
      }
    ]
  })
}

/** What in a text tries again without a bound, or without a pause; one line each. */
function violations(path: string, text: string): string[] {
  const found: string[] = []
  for (const { head, body, line } of blocksOf(text, LOOP)) {
    if (!ASYNC.test(body)) continue
    if (ENDLESS.test(head) && !COUNTED.test(body)) found.push(`${path}:${line} loops without a bound`)
    else if (PAUSES.test(path) && COUNTED.test(head) && !PAUSE.test(body)) found.push(`${path}:${line} tries again without a pause`)
  }
  for (const { head, body, line } of blocksOf(text, FUNCTION)) {
    const name = FUNCTION.exec(head)![1]!
    const [call] = new RegExp(`(?:return|return await|await) ${name}\\(.*`).exec(body) ?? []
    if (call === undefined || !/\basync\b|Promise</.test(head) || SHRINKING.has(`${path} ${name}`)) continue
    if (!COUNTING.test(call)) found.push(`${path}:${line} ${name} calls itself without a bound`)
    else if (PAUSES.test(path) && !PAUSE.test(body)) found.push(`${path}:${line} ${name} calls itself without a pause`)
  }
  return found
}

t.test('whatever tries again has a bound and a pause', async (t) => {
  const paths = globSync(['{lib,plugins,routes}/**/*.ts', 'packages/client/src/**/*.ts', 'packages/{desk,setup}/{*,!(test)/**/*}.ts'], {
    cwd: ROOT
  })
  const sources = paths.map((path) => [path, readFileSync(`${ROOT}/${path}`, 'utf8')] as const)
  t.strictSame(
    sources.flatMap(([path, text]) => violations(path, text)),
    []
  )
  const counted = sources.filter(([, text]) => blocksOf(text, LOOP).some(({ head }) => COUNTED.test(head)))
  t.ok(
    counted.some(([path]) => path === 'lib/locks/write.ts'),
    'loops that count are seen'
  )
})

t.test('each rule fails on a loop that breaks it', async (t) => {
  const broken: Array<[text: string, violation: string]> = [
    ['for (;;) {\n  await send()\n}', 'x.ts:1 loops without a bound'],
    ['  for (let pause = 1; ; pause *= 2) {\n    await send()\n  }', 'x.ts:1 loops without a bound'],
    ['while (true) {\n  if (await send()) return\n}', 'x.ts:1 loops without a bound'],
    ['while (1) await send()', 'x.ts:1 loops without a bound'],
    ['do {\n  await send()\n} while (true)', 'x.ts:1 loops without a bound'],
    ['for (let count = 1; count <= ATTEMPTS; count++) {\n  await send()\n}', 'x.ts:1 tries again without a pause'],
    ['async function send (left: number) {\n  return send(left)\n}', 'x.ts:1 send calls itself without a bound'],
    ['function send (): Promise<void> {\n  return send()\n}', 'x.ts:1 send calls itself without a bound'],
    [
      'async function send (count = 1) {\n  if (count === ATTEMPTS) return\n  return send(count + 1)\n}',
      'x.ts:1 send calls itself without a pause'
    ]
  ]
  for (const [text, violation] of broken) t.strictSame(violations('x.ts', text), [violation], text)
})

t.test('what the rules allow passes', async (t) => {
  const fine = [
    'for (;;) {\n  if (next()) break\n}\nawait send()',
    'do {\n  await send()\n} while (await patience.pause(signal))',
    'for (const one of all) await send(one)',
    'for (let tries = 1; ; tries++) {\n  if (await send()) return\n  if (tries === TRIES) throw failure\n  await pause(tries)\n}',
    'for (let count = 1; count <= ATTEMPTS; count++) {\n  await send()\n  await pause(count)\n}',
    'async function send (count = 1) {\n  if (count === ATTEMPTS) return\n  await wait(1)\n  return send(count + 1)\n}',
    'function walk (one: Node) {\n  return walk(one.next)\n}'
  ]
  for (const text of fine) t.strictSame(violations('x.ts', text), [], text)
})
