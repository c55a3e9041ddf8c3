import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { fieldOf, newsroom, openEdition, shows, until } from './harness.ts'
import { startKillable } from './killable.ts'

/** A power cut: what is typed, whether the service answers, and how long after the last key the browser is killed. */
interface Kill {
  letters: string
  isAway: boolean
  afterMs: number
}

const SENTENCE = 'The quick brown fox jumps over the lazy dog.'

const LONG = SENTENCE.repeat(16)

/** KILLS=all has all, which takes four minutes; else the one that a text outlives by the disk alone. */
const KILLS: Kill[] =
  process.env['KILLS'] === 'all'
    ? [
        ...[true, false].flatMap((isAway) => [0, 500, 2000, 15_000].map((afterMs) => ({ letters: SENTENCE, isAway, afterMs }))),
        { letters: LONG, isAway: true, afterMs: 500 }
      ]
    : [{ letters: SENTENCE, isAway: true, afterMs: 500 }]

/** How fast the longer text is typed, in milliseconds a letter: it takes 90 s. */
const DELAY_MS = 90_000 / LONG.length

t.test('a letter is on the disk half a second after it was typed: kill -9 of the browser loses none', async (t) => {
  const { url, edition, client } = await newsroom(t)
  const profile = t.testdir()
  /** What a page, or a lock, has of what was typed, in letters. */
  async function lettersIn(texts: string[], { letters }: Kill): Promise<number> {
    const shared = texts.map((text) => [...letters].findIndex((letter, index) => text[index] !== letter))
    return Math.max(0, ...shared.map((length, index) => (length < 0 ? letters.length : Math.min(length, texts[index]!.length))))
  }
  const table: string[] = []
  for (const [nth, kill] of KILLS.entries()) {
    const { letters, isAway, afterMs } = kill
    const name = `Killed ${nth}`
    const id = await edition(name)
    const before = await startKillable(t, profile)
    await before.page.goto(`${url}/desk?as=anna`)
    await openEdition(before.page, id, name)
    await fieldOf(before.page, 'Title').focus()
    await shows(before.page.getByText('You are editing this'))
    if (isAway) await before.page.route('**/api/**', (route) => route.abort())
    await before.page.keyboard.press('Control+a')
    await before.page.keyboard.type(letters, { delay: letters === SENTENCE ? 0 : DELAY_MS })
    await wait(afterMs)
    await before.kill()

    const { page, kill: end } = await startKillable(t, profile)
    await page.goto(`${url}/desk?as=anna`)
    await openEdition(page, id, name)
    let kept = 0
    const deadline = Date.now() + (afterMs === 0 ? 3000 : 30_000)
    await until(async () => {
      const shown = (await page.locator('blockquote').allTextContents()) as string[]
      const locks = await client('looker').locks.list({ type: 'publisher_container', id })
      kept = await lettersIn([...shown, ...locks.map(({ payload = '' }) => payload)], kill)
      return kept === letters.length || Date.now() > deadline
    })
    await end()
    const lost = letters.length - kept
    table.push(`| ${letters.length} | ${isAway ? 'away' : 'there'} | ${afterMs / 1000} s | ${lost} |`)
    if (afterMs > 0) t.equal(lost, 0, `of ${letters.length} letters, service ${isAway ? 'away' : 'there'}, killed after ${afterMs} ms`)
  }
  t.comment(['| letters | service | killed after | lost |', '|---|---|---|---|', ...table].join('\n'))
})
