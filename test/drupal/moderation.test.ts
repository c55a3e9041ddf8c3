import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { core, quoin, signIn, startService } from './quoin.ts'
import { startSite } from './site.ts'

/** Nodes as editions. Core lets their editors filter among the published ones and their own. */
const model = {
  entityType: 'node',
  bundleEntityType: 'node_type',
  keys: { id: 'nid', revision: 'vid', owner: 'uid' },
  fields: { key: 'field_key', editionType: null, articles: [] },
  bundles: { article: 'Article' },
  lists: {}
}

const OWN = 12

/** Gives editors the permission of content_moderation, and makes unpublished articles: first many of the editor's own, then one of another. */
const SET_UP = `
  \\Drupal::service('module_installer')->install(['content_moderation']);
  user_role_grant_permissions('editor', ['access content', 'view any unpublished content', 'view own unpublished content', 'create article content', 'edit any article content']);
  \\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => 'field_key', 'entity_type' => 'node', 'type' => 'string'])->save();
  \\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => 'field_key', 'entity_type' => 'node', 'bundle' => 'article', 'label' => 'Key'])->save();
  $ids = [];
  foreach ([...array_fill(0, ${OWN}, 'editor'), 'editor2'] as $number => $name) {
    $node = \\Drupal\\node\\Entity\\Node::create([
      'type' => 'article', 'title' => "Waiting $number", 'status' => 0, 'uid' => user_load_by_name($name)->id(),
      'uuid' => sprintf('00000000-0000-4000-8000-%012d', $number), 'field_key' => "K-$number",
    ]);
    $node->save();
    $ids[] = (int) $node->id();
  }
  return $ids;`

t.test('an editor who may view any unpublished content finds by Quoin what core REST shows him', { timeout: 900_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const ids: number[] = JSON.parse(await site.php(SET_UP))
  const id = ids.at(-1)!
  const { endpoint } = await startEngine(t, 'dynalite')
  const file = join(t.testdir(), 'model.json')
  writeFileSync(file, JSON.stringify(model))
  const service = await startService(site.url, { CONTENT_MODEL: file, DYNAMODB_ENDPOINT: endpoint })
  t.teardown(() => service.close())
  const editor = await signIn(site, 'editor')
  const list = async (query: string) => {
    const { body } = await quoin(service, editor, 'GET', `/api/collections/node?limit=500&total=1&${query}`)
    return { total: body.meta?.total, ids: body.data?.map(({ nid }: any) => nid[0].value) }
  }
  const shown = await fetch(`${site.url}/jsonapi/node/article?filter[title][value]=Waiting ${OWN}`, { headers: editor })
  t.strictSame(((await shown.json()) as any).data, [], "core does not let him filter for another's")
  t.equal((await core(site, editor, 'GET', `/node/${id}`)).status, 200, 'and shows it to him')

  t.strictSame(await list(`key=K-${OWN}`), { total: 1, ids: [id] })
  t.strictSame(await list('q=waiting'), { total: OWN + 1, ids: ids.toReversed() })
  const unpublished: number[] = JSON.parse(
    await site.php(
      "return array_map('intval', array_values(\\Drupal::entityQuery('node')->accessCheck(FALSE)->condition('type', 'article')->condition('status', 0)->sort('nid', 'DESC')->execute()));"
    )
  )
  t.strictSame((await list('status=0')).ids, unpublished)
  t.match(await quoin(service, editor, 'GET', `/api/collection/${id}`), { status: 200, body: { nid: [{ value: id }] } })
  t.equal((await quoin(service, editor, 'GET', '/api/collection/99999')).status, 404)
  t.match(await quoin(service, editor, 'PUT', `/api/collections/article/by-key/K-${OWN}`, { title: [{ value: 'Changed' }] }), {
    status: 200,
    body: { nid: [{ value: id }] }
  })
  t.equal(
    await site.php(`return \\Drupal::entityQuery('node')->accessCheck(FALSE)->condition('field_key', 'K-${OWN}')->count()->execute();`),
    '1'
  )
})
