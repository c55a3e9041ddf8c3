import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './fixtures/processes.ts'

const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: join(ROOT, 'config/prometheus'), encoding: 'utf8' })

/** Prometheus' own tool is not everywhere; test/app/install-promtool.sh brings it. */
const isThere = promtool('--version').status === 0

t.test('each alarm fires when it should, and none where all is well', { skip: !isThere && 'there is no promtool' }, async (t) => {
  for (const args of [
    ['check', 'rules', 'rules.yaml'],
    ['test', 'rules', 'rules.test.yaml']
  ]) {
    const { status, stdout, stderr } = promtool(...args)
    t.equal(status, 0, `${args.join(' ')}\n${stdout}${stderr}`)
  }
})
