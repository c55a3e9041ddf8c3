import t from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { core, quoin, signIn, startQuoin, type Answer } from './quoin.ts'
import { startSite } from './site.ts'

const AT_ONCE = 50

t.test(`${AT_ONCE} pushes of one key at once, through two instances, make one edition`, { timeout: 1_800_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const instances = [
    await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint, CMS_TIMEOUT_MS: '60000' }),
    await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint, CMS_TIMEOUT_MS: '60000' })
  ] as const
  t.teardown(() => Promise.all(instances.map((instance) => instance.close())))
  const editor = await signIn(site, 'editor')
  const body = { title: [{ value: 'Pushed at once' }] }

  // On a slow machine the create may take longer than the others wait.
  async function push(index: number): Promise<Answer> {
    const answer = await quoin(instances[index % 2]!, editor, 'PUT', '/api/collections/daily/by-key/pushed-at-once', body)
    return answer.status === 503 ? push(index) : answer
  }
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => push(index)))
  t.strictSame(answers.map(({ status }) => status).sort(), [...Array.from({ length: AT_ONCE - 1 }, () => 200), 201])
  const ids = new Set(answers.map(({ body }) => body.id[0].value))
  t.equal(ids.size, 1)
  const [id] = ids
  t.match((await core(site, editor, 'GET', `/publisher_container/${id}`)).body, { ...body, field_key: [{ value: 'pushed-at-once' }] })
  t.equal(
    await site.php(
      "return \\Drupal::entityQuery('publisher_container')->accessCheck(FALSE)->condition('field_key', 'pushed-at-once')->count()->execute();"
    ),
    '1'
  )
})
