import t from 'tap'
import { core, quoin, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

const USER = 'editor'

t.test('a row of the running order has the image and section of its article, of a site that has them', { timeout: 600_000 }, async (t) => {
  const site = await startSite({ variant: 'bundles' })
  t.teardown(site.stop)
  const id = site.content.cases['twice']!
  const articles: Array<{ target_id: number, target_uuid: string }> = (await core(site, USER, 'GET', `/publisher_container/${id}`)).body.field_articles
  const [{ target_id: article, target_uuid: uuid }] = articles as [typeof articles[number]]
  const [tag] = (await core(site, USER, 'GET', `/node/${article}`)).body.field_tags
  const labelsOf = async () => {
    const service = await startQuoin(site, { DESK: 'on' })
    t.teardown(() => service.close())
    await quoin(service, USER, 'GET', `/api/desk/labels/${id}`)
    const { status, body } = await quoin(service, USER, 'GET', `/api/desk/labels/${id}`)
    t.equal(status, 200)
    return body
  }

  const without = await labelsOf()
  t.strictSame(without.images, {}, 'the articles of this site have no image field, which JSON:API refuses to include')
  t.equal(without.sections[uuid], (await core(site, USER, 'GET', `/taxonomy/term/${tag.target_id}`)).body.name[0].value)
  t.strictSame(Object.keys(without.sections).sort(), [...new Set(articles.map(({ target_uuid: uuid }) => uuid))].sort())

  await site.php(`
    \\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => 'field_image', 'entity_type' => 'node', 'type' => 'image'])->save();
    \\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => 'field_image', 'entity_type' => 'node', 'bundle' => 'article'])->save();
    $files = \\Drupal::entityQuery('file')->accessCheck(FALSE)->execute();
    $node = \\Drupal\\node\\Entity\\Node::load(${article});
    $node->set('field_image', ['target_id' => reset($files), 'alt' => 'A cover'])->save();
  `)
  const image = (await core(site, USER, 'GET', `/node/${article}`)).body.field_image[0].url
  const { images, data, sections } = await labelsOf()
  t.strictSame(images, { [uuid]: image }, 'the same address as in core REST')
  t.strictSame({ data, sections }, { data: without.data, sections: without.sections })
})
