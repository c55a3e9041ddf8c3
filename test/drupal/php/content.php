<?php

/**
 * @file
 * Users, terms, files, articles and editions of a test site.
 *
 * Expects $names: the names of this variant, see variants.ts. Returns the ids
 * of what tests look for.
 */

use Drupal\file\Entity\File;
use Drupal\node\Entity\Node;
use Drupal\taxonomy\Entity\Term;
use Drupal\user\Entity\User;

require_once __DIR__ . '/uuid.php';

// 2026-01-01T00:00:00Z.
$start = 1767225600;
$storage = \Drupal::entityTypeManager()->getStorage($names['entityType']);
$f = $names['fields'];
$k = $names['keys'];

// Users: the password is the name.
$uids = [];
User::load(0)->set('uuid', uuid_of('user:anonymous'))->save();
User::load(1)->set('uuid', uuid_of('user:admin'))->set('timezone', 'Europe/Berlin')->save();
foreach (['editor' => ['editor'], 'editor2' => ['editor'], 'reader' => [], 'blocked' => [], 'service' => ['service']] as $name => $roles) {
  $user = User::create(['name' => $name, 'mail' => "$name@example.com", 'pass' => $name, 'status' => $name !== 'blocked', 'roles' => $roles, 'timezone' => 'Europe/Berlin', 'uuid' => uuid_of("user:$name"), 'created' => $start, 'changed' => $start]);
  $user->save();
  $uids[$name] = (int) $user->id();
}

// Terms: Sports has an alias, Closed is deleted below.
$term = function (string $vocabulary, string $name, ?string $alias = NULL) use ($start): int {
  $term = Term::create(['vid' => $vocabulary, 'name' => $name, 'uuid' => uuid_of("term:$name"), 'changed' => $start, 'revision_created' => $start, 'path' => $alias ? ['alias' => $alias] : NULL]);
  $term->save();
  return (int) $term->id();
};
$sections = [];
foreach (['Politics' => NULL, 'Economy' => NULL, 'Sports' => '/sections/sports', 'Culture' => NULL, 'Science & Tech' => NULL, 'Closed' => NULL] as $name => $alias) {
  $sections[] = $term($names['sections'], $name, $alias);
}
$tags = array_map(fn ($name) => $term('tags', $name), ['alpha', 'beta', 'gamma']);

// Covers: a file name with a blank, as editors upload them.
$files = [];
$folder = 'public://covers';
\Drupal::service('file_system')->prepareDirectory($folder, 3);
foreach ([1, 2, 3] as $i) {
  $image = imagecreatetruecolor(60 * $i, 40 * $i);
  imagefill($image, 0, 0, imagecolorallocate($image, 40 * $i, 90, 120));
  imagepng($image, \Drupal::service('file_system')->realpath($folder) . "/cover $i.png");
  $file = File::create(['uri' => "$folder/cover $i.png", 'uid' => $uids['editor'], 'status' => 1, 'uuid' => uuid_of("file:$i"), 'created' => $start, 'changed' => $start]);
  $file->save();
  $files[] = (int) $file->id();
}

// Articles: each tenth has an alias, each twentieth is unpublished as well.
// The last two are deleted below.
$articles = [];
for ($i = 1; $i <= 202; $i++) {
  $node = Node::create([
    'type' => $names['article'],
    'title' => "Article $i",
    'uuid' => uuid_of("article:$i"),
    'uid' => $i % 2 ? $uids['editor'] : $uids['editor2'],
    'status' => $i % 20 ? 1 : 0,
    'created' => $start + $i * 600,
    'changed' => $start + $i * 600,
    'revision_timestamp' => $start + $i * 600,
    'body' => ['value' => "<p>Body of article $i &amp; <em>more</em></p>", 'summary' => '', 'format' => 'basic_html'],
    'field_tags' => [['target_id' => $tags[$i % 3]]],
    'path' => $i % 10 === 0 ? ['alias' => "/articles/article-$i"] : NULL,
  ]);
  $node->save();
  $articles[$i] = (int) $node->id();
}
$refs = fn (array $ids): array => array_map(fn ($id) => ['target_id' => $id], $ids);

// Editions. All that a field can hold for odd ones, little for even ones.
$types = array_keys($names['editionTypes']);
$n = 0;
$edition = function (string $bundle, string $type, string $label, array $values = []) use (&$n, $storage, $f, $k, $start, $uids) {
  $n++;
  $entity = $storage->create($values + [
    $k['bundle'] => $bundle,
    $k['label'] => $label,
    'uuid' => uuid_of("edition:$n"),
    $k['published'] => 1,
    $k['owner'] => $n % 2 ? $uids['editor'] : $uids['editor2'],
    $k['created'] => $start + $n * 3600,
    $k['changed'] => $start + $n * 3600 + 60,
    $k['revisionCreated'] => $start + $n * 3600,
    $k['revisionUser'] => $uids['editor'],
    $f['key'] => sprintf('%s-%s-%04d', $bundle, $type, $n),
    $f['editionType'] => $type,
  ]);
  $entity->save();
  return $entity;
};
foreach ($names['bundles'] as $bundle) {
  for ($i = 1; $i <= $bundle['count']; $i++) {
    $type = $bundle['editionType'] ?? $types[$i % 3 ? 0 : 1];
    $m = $n + 1;
    $ids = [];
    for ($j = 0; $j <= $i % 6; $j++) {
      $ids[] = $articles[($m * 3 + $j) % 200 + 1];
    }
    $values = [$f['articles'] => $refs($ids), $f['publicationDate'] => gmdate('Y-m-d', $start + intdiv($m, 4) * 86400), $k['published'] => $i % 10 ? 1 : 0];
    if ($i % 2) {
      $values += [
        $f['description'] => ['value' => "<p>Desc <strong>$i</strong> <script>alert(1)</script></p>\n<p>two</p>", 'format' => 'basic_html'],
        $f['link'] => ['uri' => "https://example.com/e/$i?a=1&b=2", 'title' => "Link $i", 'options' => []],
        $f['labels'] => ['label-a', "label-$i", 'Ümläut'],
        $f['section'] => ['target_id' => $sections[$i % 5]],
        $f['featured'] => $i % 4 === 1,
        $f['pageCount'] => 10 + $i,
        $f['price'] => '2.50',
        $f['rating'] => 4.5,
        $f['publishedAt'] => gmdate('Y-m-d\TH:i:s', $start + $m * 7200),
        $f['expires'] => $start + $m * 86400,
        $f['cover'] => ['target_id' => $files[$i % 3], 'alt' => "Alt $i", 'title' => 'Title "q"'],
        $f['internalNote'] => "secret $i",
      ];
    }
    $label = $i === 7 ? 'It\'s "quoted" & 100% <b>Ünïcode</b> – 日本 \\ _' : ucfirst($type) . " edition $i of " . $bundle['id'];
    $edition($bundle['id'], $type, $label, $values);
  }
}

// One edition for each case that a test wants by name.
$bundle = $names['bundles'][0]['id'];
$type = $types[0];
$cases = [
  'empty' => [$f['editionType'] => NULL],
  'emptyUnpublished' => [$f['editionType'] => NULL, $k['published'] => 0],
  'twice' => [$f['articles'] => $refs([$articles[4], $articles[5], $articles[4]])],
  'many' => [$f['articles'] => $refs(array_slice($articles, 0, 60))],
  'aliased' => [$f['articles'] => $refs([$articles[10], $articles[1], $articles[30]]), $f['section'] => ['target_id' => $sections[2]]],
  'hiddenTargets' => [$f['articles'] => $refs([$articles[20], $articles[40], $articles[3]])],
  'dangling' => [$f['articles'] => $refs([$articles[2], $articles[201], $articles[6], $articles[202]]), $f['section'] => ['target_id' => $sections[5]]],
  'foreignFormat' => [$f['description'] => ['value' => '<h2>Full</h2>', 'format' => 'full_html']],
  'zero' => [$f['pageCount'] => 0, $f['price'] => '0', $f['rating'] => 0, $f['featured'] => FALSE, $f['expires'] => 0, $f['description'] => ['value' => '', 'format' => 'basic_html']],
  'german' => ['langcode' => 'de'],
];
$ids = [];
foreach ($cases as $case => $values) {
  $ids[$case] = (int) $edition($bundle, $type, "Case $case", $values)->id();
}
// Two with a French translation, one with several revisions.
foreach (['translated', 'translatedUnpublished'] as $case) {
  $entity = $edition($bundle, $type, "Case $case", [$k['published'] => (int) ($case === 'translated'), $f['articles'] => $refs([$articles[10]])]);
  $entity->addTranslation('fr', [$k['label'] => "Édition $case", $k['published'] => 1, $k['owner'] => $uids['editor2'], $k['created'] => $start, $k['changed'] => $start + 60, $f['key'] => $entity->get($f['key'])->value . '-fr', $f['editionType'] => $type, $f['articles'] => $refs([$articles[11], $articles[12]])]);
  $entity->setNewRevision(FALSE);
  $entity->save();
  $ids[$case] = (int) $entity->id();
}
$entity = $edition($bundle, $type, 'Case revised', [$k['revisionLog'] => 'first']);
foreach ([200 => 'second', 201 => 'third'] as $hour => $log) {
  $entity->setNewRevision(TRUE);
  // An unchanged time would become the present one.
  $entity->set($k['revisionLog'], $log)->set($k['label'], "Case revised, $log")->setChangedTime($start + $hour * 3600);
  $entity->setRevisionCreationTime($start + $hour * 3600);
  $entity->save();
}
$ids['revised'] = (int) $entity->id();

Node::load($articles[201])->delete();
Node::load($articles[202])->delete();
Term::load($sections[5])->delete();
drupal_flush_all_caches();

return [
  'users' => $uids + ['admin' => 1],
  'articles' => ['count' => 200, 'first' => $articles[1], 'aliased' => $articles[10], 'hiddenAliased' => $articles[20], 'deleted' => [$articles[201], $articles[202]]],
  'sections' => array_slice($sections, 0, 5),
  'deletedSection' => $sections[5],
  'files' => $files,
  'editions' => $n,
  'cases' => $ids,
];
