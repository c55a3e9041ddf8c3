import t from 'tap'
import { enableModule } from './module.ts'
import { nodesJsonapiPath, startNodes, startNodesQuoin } from './nodes.ts'
import { core, quoin, signIn } from './quoin.ts'

const JSONAPI = 'application/vnd.api+json'

t.test('a reference to what is gone is kept when others move or are inserted beside it', { timeout: 900_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const id = site.content.cases.dangling
  const story = (number: number) => site.content.stories[number]!
  const [third, lost, fourth, alsoLost, fifth] = [3, 121, 4, 122, 5].map(story)
  const editor = await signIn(site, 'editor')
  const stored = async (): Promise<number[]> =>
    (await core(site, editor, 'GET', `/node/${id}`)).body.field_stories.map(({ target_id: target }: any) => target)
  const refs = (...ids: Array<number | undefined>) => ids.map((target) => ({ target_id: target ?? null }))
  const service = await startNodesQuoin(site)
  t.teardown(() => service.close())
  const save = (body: object) => quoin(service, editor, 'POST', `/api/collection/${id}`, body)
  const arrange = (...operations: object[]) => quoin(service, editor, 'POST', `/api/collection/${id}/articles`, { operations })
  const gone = { target_id: null }

  t.strictSame(await stored(), [third, lost, fourth, alsoLost])
  const refused = await save({ field_stories: refs(fourth, undefined, third, undefined) })
  t.match([refused.status, refused.body.message], [422, /gone/], 'without the module it is refused')
  t.match(await arrange({ op: 'insert', article: { target_id: fifth }, at: 'start' }), { status: 422 })

  await enableModule(site)
  await quoin(service, editor, 'GET', `/api/collection/${id}`)

  await t.test('core REST takes its own document, and refuses one whose list has changed', async (t) => {
    const { body: document } = await core(site, editor, 'GET', `/node/${id}`)
    const own = { type: document.type, field_stories: document.field_stories }
    t.equal((await core(site, editor, 'PATCH', `/node/${id}`, own)).status, 200)
    const moved = { ...own, field_stories: refs(fourth, lost, third, alsoLost) }
    t.match(await core(site, editor, 'PATCH', `/node/${id}`, moved), { status: 422, body: { message: /does not exist/ } })
    t.equal((await save({ field_stories: document.field_stories })).status, 200)
    t.match(await save({ field_stories: refs(fourth, lost, third, alsoLost) }), { status: 422 }, 'by ids it is as core has it')
    t.strictSame(await stored(), [third, lost, fourth, alsoLost])
  })

  await t.test('lists', async (t) => {
    const moved = await save({ field_stories: refs(fourth, undefined, third, undefined) })
    t.equal(moved.status, 200, JSON.stringify(moved.body))
    t.match(moved.body.field_stories, refs(fourth, undefined, third, undefined))
    t.strictSame(await stored(), [fourth, lost, third, alsoLost])
    t.equal((await save({ field_stories: refs(undefined, undefined, fifth, fourth, third) })).status, 200)
    t.strictSame(await stored(), [lost, alsoLost, fifth, fourth, third])
    t.match(await save({ field_stories: refs(undefined, undefined, undefined, fourth) }), { status: 422 }, 'no more than there are')
    t.equal((await save({ title: [{ value: 'Beside it' }] })).status, 200)
    t.strictSame(await stored(), [lost, alsoLost, fifth, fourth, third])
  })

  await t.test('operations on the running order', async (t) => {
    const inserted = await arrange(
      { op: 'move', article: { target_id: fifth }, at: 'start' },
      { op: 'move', article: { target_id: third }, before: gone }
    )
    t.equal(inserted.status, 200, JSON.stringify(inserted.body))
    t.strictSame(await stored(), [fifth, third, lost, alsoLost, fourth])
    t.equal((await arrange({ op: 'move', article: { target_id: fourth }, after: gone })).status, 200)
    t.strictSame(await stored(), [fifth, third, lost, fourth, alsoLost])
    t.equal((await arrange({ op: 'remove', article: gone })).status, 200)
    t.strictSame(await stored(), [fifth, third, fourth, alsoLost], 'the other one stays')
    t.equal((await arrange({ op: 'remove', article: gone })).status, 200)
    t.strictSame(await stored(), [fifth, third, fourth])
    await site.php(
      `$node = \\Drupal\\node\\Entity\\Node::load(${id}); $node->set('field_stories', [${[third, lost, fourth, alsoLost].join()}])->save();`
    )
  })

  await t.test('the header field adds nothing', async (t) => {
    const { body: document } = await core(site, editor, 'GET', `/node/${id}`)
    const uuid = document.uuid[0].value
    const patch = async (keep: unknown, body: object = {}, who = editor) => {
      const response = await fetch(`${site.url}${nodesJsonapiPath}/node/issue/${uuid}`, {
        method: 'PATCH',
        headers: {
          ...who,
          accept: JSONAPI,
          'content-type': JSONAPI,
          'quoin-keep-references': typeof keep === 'string' ? keep : JSON.stringify(keep)
        },
        body: JSON.stringify({ data: { type: 'node--issue', id: uuid, ...body } })
      })
      const { errors } = (await response.json()) as { errors?: Array<{ detail: string }> }
      return { status: response.status, detail: errors?.[0]?.detail }
    }
    const emptied = { relationships: { field_stories: { data: [] } } }
    t.match(
      await patch({ field_stories: [[0, 0]] }, emptied),
      { status: 412, detail: /no reference at 0 to what is gone/ },
      'not one that is there'
    )
    t.match(await patch({ field_stories: [[0, 9]] }, emptied), { status: 412 }, 'nor one that is not stored')
    t.match(await patch({ field_stories: [[1, 1]] }, emptied), { status: 412, detail: /no place 1/ })
    t.match(
      await patch(
        {
          field_stories: [
            [0, 1],
            [1, 1]
          ]
        },
        emptied
      ),
      { status: 400, detail: /twice/ }
    )
    t.match(await patch({ field_stories: [[0, 1]] }, { attributes: { title: 'x' } }), { status: 400, detail: /does not change/ })
    t.match(await patch({ field_nothing: [[0, 1]] }, emptied), { status: 400, detail: /does not change/ })
    for (const malformed of [
      '',
      '[]x',
      '7',
      { field_stories: [] },
      { field_stories: 1 },
      { field_stories: [[0]] },
      { field_stories: [[-1, 1]] },
      { field_stories: [['0', 1]] },
      'x'.repeat(5000)
    ]) {
      t.match(await patch(malformed, emptied), { status: 400, detail: /has to be like/ }, JSON.stringify(malformed).slice(0, 40))
    }
    t.match(await patch({ field_stories: [[0, 1]] }, emptied, await signIn(site, 'reader')), { status: 403 })
    t.strictSame(await stored(), [third, lost, fourth, alsoLost], 'nothing is changed')
    t.equal((await patch({ field_stories: [[0, 3]] }, emptied)).status, 200)
    t.strictSame(await stored(), [alsoLost])
  })
})
