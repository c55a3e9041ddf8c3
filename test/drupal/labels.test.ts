import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkLists } from '../../packages/setup/doctor/lists.ts'
import { contentModel } from '#lib/editions/model.ts'
import { createCatalog } from '#lib/editions/site/catalog.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { createHttp } from '#lib/http/client.ts'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { core, quoin, startQuoin } from './quoin.ts'
import { startSite, type Site } from './site.ts'
import { writtenModel } from './written.ts'

const USER = 'editor'

t.test('a row of the running order has the image and section of its article, of a site that has them', { timeout: 600_000 }, async (t) => {
  const site = await startSite({ variant: 'bundles' })
  t.teardown(site.stop)
  const id = site.content.cases['twice']!
  const articles: Array<{ target_id: number; target_uuid: string }> = (await core(site, USER, 'GET', `/publisher_container/${id}`)).body
    .field_articles
  const [{ target_id: article, target_uuid: uuid }] = articles as [(typeof articles)[number]]
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

/** What the doctor says of the lists of a content model. */
async function doctored(t: Test, { url, names: { jsonapiPath } }: Site, user: string, model: object): Promise<string[]> {
  const http = createHttp({ url, timeoutMs: 60_000 })
  t.teardown(() => http.close())
  const lines: string[] = []
  const cms = createJsonapi({ http, jsonapiPath, account: basicAccount({ http, jsonapiPath }, user, user) })
  const content = contentModel(model)
  await report(checkLists({ cms, catalog: createCatalog({ cms, model: content }), name: user, isAnonymous: false }, content, url), (line) =>
    lines.push(line)
  )
  return lines
}

t.test(
  'rows of a list have the images and sections that core REST tells, and the model command and the doctor find their fields',
  { timeout: 600_000 },
  async (t) => {
    const site = await startSite({ variant: 'bundles' })
    t.teardown(site.stop)
    const {
      url,
      names: { jsonapiPath }
    } = site
    await site.php(`
    \\Drupal::service('module_installer')->install(['content_moderation', 'media']);
    user_role_grant_permissions('editor', ['view any unpublished content', 'view media']);
  `)
    const ofLists = async (user: string) => {
      const { file, lines } = await writtenModel({ url, jsonapiPath }, user)
      return { file: JSON.parse(readFileSync(file, 'utf8')), lines: lines.filter((line) => line.slice(5).startsWith('lists:')) }
    }
    const byHand = (look: object) => ({ lists: { article: { entityType: 'node', bundles: ['article'], ...look } } })
    const rowsOf = async (model: object) => {
      const path = join(t.testdir(), 'content-model.json')
      writeFileSync(path, JSON.stringify(model))
      const service = await startQuoin(site, { DESK: 'on', CONTENT_MODEL: path })
      t.teardown(() => service.close())
      const {
        body: { data }
      } = await quoin(service, USER, 'GET', '/api/collections/article?limit=8')
      const rows = data as Array<{ nid: Array<{ value: number }>; uuid: Array<{ value: string }>; status: Array<{ value: boolean }> }>
      const { status, body } = await quoin(
        service,
        USER,
        'GET',
        `/api/desk/looks/article?uuids=${rows.map(({ uuid }) => uuid[0]!.value).join(',')}`
      )
      t.equal(status, 200)
      return { rows, looks: body as { images: Record<string, string>; sections: Record<string, string> } }
    }
    const sectionsByCore = async (rows: Awaited<ReturnType<typeof rowsOf>>['rows']) =>
      Object.fromEntries(
        await Promise.all(
          rows.map(async ({ nid, uuid }) => {
            const {
              body: {
                field_tags: [tag]
              }
            } = await core(site, USER, 'GET', `/node/${nid[0]!.value}`)
            return [uuid[0]!.value, (await core(site, USER, 'GET', `/taxonomy/term/${tag.target_id}`)).body.name[0].value]
          })
        )
      )

    const plain = await rowsOf(byHand({ image: 'field_image', section: 'field_tags' }))
    t.strictSame(plain.looks, { images: {}, sections: await sectionsByCore(plain.rows) })
    t.strictSame(await doctored(t, site, USER, byHand({ image: 'field_image', section: 'field_tags' })), [
      `!    lists.article.image: field_image of article is not there: correct image of the list in the content model, or let ${USER} view the field`,
      'ok   lists.article.section: field_tags of article'
    ])
    t.match((await ofLists(USER)).lines, [
      /^- {4}lists: /,
      '-    lists: images and sections: of article no field that can be seen holds images; of article field_tags hold terms, and none is called like a section'
    ])

    // JSON:API lets an editor see the article, and not filter for it: it is not published, and somebody else's.
    const newest = plain.rows[0]!.nid[0]!.value
    t.equal(plain.rows[0]!.status[0]!.value, false)
    const address = await site.php(`
    $type = \\Drupal\\media\\Entity\\MediaType::create(['id' => 'photo', 'label' => 'Photo', 'source' => 'image']);
    $type->save();
    $source = $type->getSource()->createSourceField($type);
    $source->getFieldStorageDefinition()->save();
    $source->save();
    $type->set('source_configuration', ['source_field' => $source->getName()])->save();
    $files = \\Drupal::entityQuery('file')->accessCheck(FALSE)->execute();
    $media = \\Drupal\\media\\Entity\\Media::create(['bundle' => 'photo', 'name' => 'A photo', 'uid' => 1, $source->getName() => ['target_id' => reset($files), 'alt' => '']]);
    $media->save();
    \\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => 'field_photo', 'entity_type' => 'node', 'type' => 'entity_reference', 'settings' => ['target_type' => 'media']])->save();
    \\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => 'field_photo', 'entity_type' => 'node', 'bundle' => 'article'])->save();
    \\Drupal\\field\\Entity\\FieldStorageConfig::create(['field_name' => 'field_section', 'entity_type' => 'node', 'type' => 'entity_reference', 'settings' => ['target_type' => 'taxonomy_term']])->save();
    \\Drupal\\field\\Entity\\FieldConfig::create(['field_name' => 'field_section', 'entity_type' => 'node', 'bundle' => 'article'])->save();
    foreach ([1, 4, 5, ${newest}] as $id) {
      $node = \\Drupal\\node\\Entity\\Node::load($id);
      $node->set('field_photo', $media->id())->set('field_section', $node->get('field_tags')->target_id)->save();
    }
    drupal_flush_all_caches();
    return \\Drupal::service('file_url_generator')->generateString($media->get($source->getName())->entity->getFileUri());
  `)
    const path = 'field_photo.field_media_image'
    for (const user of ['admin', USER]) {
      const { file, lines } = await ofLists(user)
      t.strictSame(file.lists, byHand({ image: path, section: 'field_section' }).lists, user)
      t.strictSame(lines.length, 1, lines.join('\n'))
      t.strictSame(
        await doctored(t, site, user, file),
        [`ok   lists.article.image: ${path} of article`, 'ok   lists.article.section: field_section of article'],
        user
      )
    }
    t.match(
      await doctored(t, site, USER, byHand({ image: 'field_photo.field_photo', section: 'field_photo' })),
      [
        /^! {4}lists\.article\.image: field_photo\.field_photo of article leads nowhere, as what field_photo refers to has no such reference: /,
        'ok   lists.article.section: field_photo of article'
      ],
      'media have a label too'
    )
    t.match(await doctored(t, site, USER, byHand({ image: 'field_photo', section: 'title' })), [
      /^! {4}lists\.article\.image: field_photo of article leads to media--photo, which shows no address of a file: .* \((?:field_photo\.thumbnail or )?field_photo\.field_media_image(?: or field_photo\.thumbnail)?\?\)$/,
      'ok   lists.article.section: title of article'
    ])
    const { rows, looks } = await rowsOf((await ofLists(USER)).file)
    const uuid = rows.find(({ nid }) => nid[0]!.value === newest)!.uuid[0]!.value
    t.strictSame(looks.images, { [uuid]: new URL(JSON.parse(address), url).href })
    t.strictSame(looks.sections, { [uuid]: (await sectionsByCore(rows))[uuid] })
  }
)
