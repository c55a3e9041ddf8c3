<?php

/**
 * @file
 * Users, articles, gazettes and leaflets of the strange site.
 *
 * Returns the ids of what tests look for.
 */

use Drupal\file\Entity\File;
use Drupal\node\Entity\Node;
use Drupal\taxonomy\Entity\Term;
use Drupal\user\Entity\User;

require_once __DIR__ . '/uuid.php';

// 2026-01-01T00:00:00Z.
$start = 1767225600;

User::load(0)->set('uuid', uuid_of('user:anonymous'))->save();
User::load(1)->set('uuid', uuid_of('user:admin'))->save();
foreach (['editor' => ['editor'], 'reader' => []] as $name => $roles) {
  $user = User::create(['name' => $name, 'mail' => "$name@example.com", 'pass' => $name, 'status' => 1, 'roles' => $roles, 'uuid' => uuid_of("user:$name"), 'created' => $start, 'changed' => $start]);
  $user->save();
  $uids[$name] = (int) $user->id();
}

foreach (['Stadt', 'Land'] as $i => $name) {
  $term = Term::create(['vid' => 'beats', 'name' => $name, 'langcode' => 'de', 'uuid' => uuid_of("term:$name"), 'changed' => $start, 'revision_created' => $start, 'path' => $i ? ['alias' => '/beats/land', 'langcode' => 'de'] : NULL]);
  $term->save();
  $beats[] = (int) $term->id();
}

$folder = 'public://';
$image = imagecreatetruecolor(30, 20);
imagepng($image, \Drupal::service('file_system')->realpath($folder) . '/photo.png');
$file = File::create(['uri' => $folder . 'photo.png', 'uid' => $uids['editor'], 'status' => 1, 'uuid' => uuid_of('file:photo'), 'created' => $start, 'changed' => $start]);
$file->save();

// Articles in three languages: each fifth has an alias, each eighth is not
// published. The last is deleted below.
$tongues = ['de', 'en', 'de', 'fr'];
for ($i = 1; $i <= 61; $i++) {
  $tongue = $tongues[$i % 4];
  $node = Node::create([
    'type' => $i % 6 ? 'report' : 'comment',
    'title' => "Report $i",
    'langcode' => $tongue,
    'uuid' => uuid_of("report:$i"),
    'uid' => $uids['editor'],
    'status' => $i % 8 ? 1 : 0,
    'created' => $start + $i,
    'changed' => $start + $i,
    'revision_timestamp' => $start + $i,
    'path' => $i % 5 === 0 ? ['alias' => "/reports/$i", 'langcode' => $tongue] : NULL,
  ]);
  $node->save();
  $articles[$i] = (int) $node->id();
}
$refs = fn (array $numbers): array => array_map(fn ($n) => ['target_id' => $articles[$n]], $numbers);

$leaflets = \Drupal::entityTypeManager()->getStorage('leaflet');
for ($i = 1; $i <= 60; $i++) {
  $leaflets->create([
    'caption' => $i === 9 ? 'Über 100 % "Öl" & <b>Ärger</b>' : "Leaflet $i",
    'uuid' => uuid_of("leaflet:$i"),
    'mark' => $i % 2 ? "mark-$i" : NULL,
    'type' => [NULL, 'folded', 'flat'][$i % 3],
    'pieces' => $i % 4 ? $refs([$i % 60 + 1, ($i * 7) % 60 + 1]) : [],
    'due' => $i % 3 ? $start + $i * 60 : NULL,
    'number' => $i % 5 ? $i : NULL,
  ])->save();
}
$scraps = \Drupal::entityTypeManager()->getStorage('scrap');
foreach ([1, 2, 3] as $i) {
  $scraps->create(['guid' => uuid_of("scrap:$i"), 'words' => "Scrap $i"])->save();
}

// Gazettes: each third is in another language at first, many have translations.
$gazettes = \Drupal::entityTypeManager()->getStorage('gazette');
$n = 0;
$make = function (string $sort, string $tongue, string $headline, array $values = [], array $translations = []) use (&$n, $gazettes, $start, $uids) {
  $n++;
  $gazette = $gazettes->create($values + [
    'sort' => $sort,
    'tongue' => $tongue,
    'headline' => $headline,
    'uuid' => uuid_of("gazette:$n"),
    'live' => $n % 9 ? 1 : 0,
    'signature' => sprintf('%s/%04d', $sort, $n),
    'flavour' => $n % 3 ? 'weekday' : 'weekend',
    'born' => $start + $n * 60,
    'touched' => $start + $n * 60 + 1,
    'state_at' => $start + $n * 60,
    'state_by' => $uids['editor'],
  ]);
  $gazette->save();
  foreach ($translations as $other => $changes) {
    $own = array_diff_key($gazette->toArray(), array_flip(['nr', 'uuid', 'state', 'sort', 'tongue', 'first_tongue', 'state_touched']));
    $gazette->addTranslation($other, $changes + ['touched' => $start + $n * 60 + 2] + $own);
    $gazette->setNewRevision(FALSE);
    $gazette->save();
  }
  return (int) $gazette->id();
};
foreach (['sheet' => 70, 'extra' => 30] as $sort => $count) {
  for ($i = 1; $i <= $count; $i++) {
    $tongue = ['de', 'de', 'en', 'fr'][$i % 4];
    $values = ['stories' => $refs(array_map(fn ($j) => ($i * 3 + $j) % 60 + 1, range(0, $i % 4))), 'chief' => $uids['editor']];
    if ($i % 2) {
      $values += [
        'opens' => $start + $i * 3600,
        'day' => gmdate('Y-m-d', $start + $i * 86400),
        'enclosures' => [$i % 60 + 1, $i % 7 + 1],
        'successor' => $n > 3 ? $n - 2 : NULL,
        'teaser' => ['value' => "<p>Teaser $i</p>", 'format' => 'plain_html'],
        'web' => ['uri' => "https://example.com/$i", 'title' => "Web $i", 'options' => []],
        'words' => ['eins', "word $i"],
        'cost' => '1.50',
        'sheets' => $i,
        'hot' => $i % 4 === 1,
        'facts' => ['weather' => 'rain', 'temperatures' => [$i, 2]],
        'memo' => "memo $i",
        'field_photo' => ['target_id' => $file->id(), 'alt' => "Alt $i", 'title' => ''],
      ] + ($sort === 'sheet' ? ['field_beat' => $beats[$i % 2]] : []);
    }
    $words = ['de' => 'Ausgabe', 'en' => 'Edition', 'fr' => 'Édition'];
    $translations = [];
    foreach ($i % 5 === 0 ? array_diff_key($words, [$tongue => 1]) : [] as $other => $word) {
      $translations[$other] = ['headline' => "$word $i, $sort", 'stories' => $refs([$i % 60 + 1]), 'live' => $other === 'fr' ? 0 : 1];
    }
    $make($sort, $tongue, "$words[$tongue] $i, $sort", $values, $translations);
  }
}
$cases = [
  'bare' => $make('sheet', 'de', 'Leer', ['flavour' => NULL]),
  'odd' => $make('sheet', 'de', 'Ein "seltsamer" & <b>Ünïcode</b> – 100 % \\ _ 日本'),
  'dangling' => $make('extra', 'en', 'Dangling', ['stories' => $refs([3, 61, 4])]),
  'hiddenTargets' => $make('extra', 'de', 'Hidden targets', ['stories' => $refs([8, 40, 5])]),
  'und' => $make('sheet', 'und', 'In no language'),
];
Node::load($articles[61])->delete();
drupal_flush_all_caches();

return [
  'articles' => $articles,
  'gazettes' => $n,
  'leaflets' => 60,
  'cases' => $cases,
];
