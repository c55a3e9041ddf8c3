import { compare } from '../compare.ts'
import type { Translation } from '../contestants/translation.ts'
import { startWorker } from '../processes.ts'
import type { Suite } from '../suite.ts'

/** From the parsed answer of the CMS to editions, beside what else takes a JSON:API document apart; JSON.parse for comparison. */
export const translation: Suite = {
  name: 'translation',
  title: 'Translation',
  async run({ rounds, ms, say }) {
    const worker = await startWorker<Translation>('contestants/translation.ts')
    const turn = (contestant: string) => () => worker.run({ contestant, ms: ms / 2 })
    say('a page of 50 editions')
    try {
      return [
        await compare('a page of 50 editions', rounds, {
          Quoin: turn('Quoin'),
          'JSON.parse': turn('JSON.parse'),
          jsona: turn('jsona'),
          'kitsu-core': turn('kitsu-core')
        })
      ]
    } finally {
      await worker.close()
    }
  }
}
