import t from 'tap'
import { core, quoin, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

const site = await startSite()
t.teardown(() => site.stop())

t.test("the urls of references are core REST's, whatever characters an alias has, and of media and editions too", async (t) => {
  await site.php(`
$aliases = ['/artikel/über-uns', '/a b', '/100%-wahr', '/was?', '/a#b', '/a+b', '/a&b=c', "/it's", '/a,b;c:d@e', '/[x]', '/a/../b', '/a/./b', '/~x!*()$', '/"q"', '/a%20b', '/UPPER', '/中文'];
$nids = array_slice(array_values(\\Drupal::entityQuery('node')->accessCheck(FALSE)->condition('type', 'article')->condition('status', 1)->sort('nid')->execute()), 50, count($aliases));
foreach ($nids as $index => $nid) {
  \\Drupal\\node\\Entity\\Node::load($nid)->set('path', ['alias' => $aliases[$index], 'langcode' => 'en'])->save();
}
\\Drupal::service('module_installer')->install(['media']);
$type = \\Drupal\\media\\Entity\\MediaType::create(['id' => 'document', 'label' => 'Document', 'source' => 'file']);
$type->save();
$source = $type->getSource()->createSourceField($type);
$source->getFieldStorageDefinition()->save();
$source->save();
$type->set('source_configuration', ['source_field' => $source->getName()])->save();
$media = \\Drupal\\media\\Entity\\Media::create(['bundle' => 'document', 'name' => 'Page one', $source->getName() => ['target_id' => 1]]);
$media->save();
foreach (['field_media' => 'media', 'field_other' => 'publisher_container'] as $name => $type) {
  \\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => $name, 'entity_type' => 'publisher_container', 'type' => 'entity_reference', 'settings' => ['target_type' => $type]])->save();
  \\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => $name, 'entity_type' => 'publisher_container', 'bundle' => 'daily', 'label' => $name])->save();
}
drupal_flush_all_caches();
$edition = \\Drupal::entityTypeManager()->getStorage('publisher_container')->load(1);
$edition->set('field_articles', $nids)->set('field_media', $media->id())->set('field_other', 2)->save();`)
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const urlsOf = ({ body }: { body: any }) =>
    ['field_articles', 'field_media', 'field_other'].map((field) => body[field].map(({ url }: { url: string }) => url))
  const theirs = urlsOf(await core(site, 'admin', 'GET', '/publisher_container/1'))
  t.match(theirs, [{ length: 17, 0: '/artikel/%C3%BCber-uns' }, ['/media/1/edit'], ['/publisher_container/2']])
  t.strictSame(urlsOf(await quoin(service, 'admin', 'GET', '/api/collection/1')), theirs)
  await site.reset()
})

t.test('a field that refers to what has no bundle yet is in the way of nothing', async (t) => {
  await site.php(`
\\Drupal::service('module_installer')->install(['media']);
\\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => 'field_media', 'entity_type' => 'publisher_container', 'type' => 'entity_reference', 'settings' => ['target_type' => 'media']])->save();
\\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => 'field_media', 'entity_type' => 'publisher_container', 'bundle' => 'daily', 'label' => 'Media'])->save();
drupal_flush_all_caches();`)
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  for (const path of ['/api/collection/1', '/api/collection/1', '/api/collections/daily']) {
    t.equal((await quoin(service, 'admin', 'GET', path)).status, 200, path)
  }
  await site.reset()
})

t.test('what is saved after a reference field has gone is saved once, and said so', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  t.equal((await quoin(service, 'admin', 'GET', '/api/collection/1')).status, 200)
  await site.php(
    "\\Drupal\\field\\Entity\\FieldStorageConfig::loadByName('publisher_container', 'field_cover')->delete(); drupal_flush_all_caches();"
  )
  const made = await quoin(service, 'admin', 'POST', '/api/collection', {
    type: 'daily',
    title: [{ value: 'Only once' }],
    field_key: [{ value: 'once' }]
  })
  t.match(made, { status: 201, body: { title: [{ value: 'Only once' }] } })
  t.match(await quoin(service, 'admin', 'POST', '/api/collection/1', { title: [{ value: 'Changed' }] }), {
    status: 200,
    body: { title: [{ value: 'Changed' }] }
  })
  t.equal((await quoin(service, 'admin', 'GET', '/api/collections/daily?q=Only%20once')).body.data.length, 1)
  t.match((await core(site, 'admin', 'GET', '/publisher_container/1')).body, { title: [{ value: 'Changed' }] })
  await site.reset()
})
