<?php

/**
 * @file
 * Users, terms, photos, articles, pages and editions of the site of nodes.
 *
 * No node has a value in a field of the module planner. Returns the ids of what
 * tests look for.
 */

use Drupal\file\Entity\File;
use Drupal\media\Entity\Media;
use Drupal\node\Entity\Node;
use Drupal\taxonomy\Entity\Term;
use Drupal\user\Entity\User;

require_once __DIR__ . '/uuid.php';

// 2026-01-01T00:00:00Z.
$start = 1767225600;

User::load(0)->set('uuid', uuid_of('user:anonymous'))->save();
User::load(1)->set('uuid', uuid_of('user:admin'))->set('timezone', 'Europe/Brussels')->save();
foreach (['editor' => ['editor'], 'editor2' => ['editor'], 'reader' => [], 'blocked' => [], 'service' => ['service']] as $name => $roles) {
  $user = User::create(['name' => $name, 'mail' => "$name@example.com", 'pass' => $name, 'status' => $name !== 'blocked', 'roles' => $roles, 'timezone' => 'Europe/Brussels', 'uuid' => uuid_of("user:$name"), 'created' => $start, 'changed' => $start]);
  $user->save();
  $uids[$name] = (int) $user->id();
}

// The last one is deleted below.
foreach (['Politiek', 'Sport', 'Cultuur', 'Gesloten'] as $i => $name) {
  $term = Term::create(['vid' => 'sections', 'name' => $name, 'langcode' => 'nl', 'uuid' => uuid_of("term:$name"), 'changed' => $start, 'revision_created' => $start, 'path' => $i === 1 ? ['alias' => '/rubriek/sport', 'langcode' => 'nl'] : NULL]);
  $term->save();
  $sections[] = (int) $term->id();
}

$folder = 'public://';
foreach (range(1, 6) as $i) {
  $image = imagecreatetruecolor(20 * $i, 10 * $i);
  imagepng($image, \Drupal::service('file_system')->realpath($folder) . "/foto $i.png");
  $file = File::create(['uri' => "{$folder}foto $i.png", 'uid' => $uids['editor'], 'status' => 1, 'uuid' => uuid_of("file:$i"), 'created' => $start, 'changed' => $start]);
  $file->save();
  $files[] = (int) $file->id();
  // The last one is unpublished.
  $media = Media::create(['bundle' => 'photo', 'name' => "Foto $i", 'langcode' => 'nl', 'uid' => $uids['editor'], 'status' => $i < 6, 'uuid' => uuid_of("photo:$i"), 'created' => $start, 'changed' => $start, 'field_media_image' => ['target_id' => $file->id(), 'alt' => "Foto $i"]]);
  $media->save();
  $photos[] = (int) $media->id();
}
$refs = fn (array $ids): array => array_map(fn ($id) => ['target_id' => $id], array_values($ids));

/**
 * Saves translations of a node, each with values of its own.
 */
$translate = function (Node $node, array $translations, int $time): void {
  foreach ($translations as $langcode => $values) {
    $own = array_diff_key($node->toArray(), array_flip(['nid', 'uuid', 'vid', 'type', 'langcode', 'default_langcode', 'path', 'revision_translation_affected']));
    $node->addTranslation($langcode, $values + ['content_translation_source' => $node->language()->getId(), 'changed' => $time] + $own);
    $node->setNewRevision(FALSE);
    $node->save();
  }
};

// Articles and pages in three languages and in none: each fifth has an alias,
// each eighth is unpublished, each sixth has translations. The last two are
// deleted below.
$tongues = ['nl', 'nl', 'fr', 'nl', 'en', 'und', 'nl', 'fr'];
for ($i = 1; $i <= 122; $i++) {
  $tongue = $tongues[$i % 8];
  $time = $start + $i * 60;
  $node = Node::create([
    'type' => $i % 9 ? 'article' : 'page',
    'title' => "Stuk $i",
    'langcode' => $tongue,
    'uuid' => uuid_of("story:$i"),
    'uid' => $uids[$i % 2 ? 'editor' : 'editor2'],
    'status' => $i % 8 ? 1 : 0,
    'created' => $time,
    'changed' => $time,
    'revision_timestamp' => $time,
    'body' => ['value' => "<p>Tekst van stuk $i &amp; <em>meer</em></p>", 'summary' => '', 'format' => 'basic_html'],
    'path' => $i % 5 === 0 ? ['alias' => "/stuk/$i", 'langcode' => $tongue] : NULL,
  ] + ($i % 9 ? ['field_related' => $i > 10 ? $refs([$stories[$i - 3], $stories[$i - 7]]) : [], 'field_picture' => ['target_id' => $photos[$i % 6]]] : []));
  $node->save();
  $stories[$i] = (int) $node->id();
  if ($i % 6 === 0 && $tongue !== 'und') {
    $translate($node, array_diff_key(['nl' => ['title' => "Stuk $i, vertaald"], 'fr' => ['title' => "Article $i"]], [$tongue => 1]), $time);
  }
}
$of = fn (array $numbers): array => $refs(array_map(fn ($number) => $stories[$number], $numbers));

$n = 0;
$editions = [];
$make = function (string $type, string $langcode, string $title, array $values = [], array $translations = []) use (&$n, &$editions, $start, $uids, $translate): int {
  $n++;
  $time = $start + 86400 + $n * 3600;
  $node = Node::create($values + [
    'type' => $type,
    'langcode' => $langcode,
    'title' => $title,
    'uuid' => uuid_of("edition:$n"),
    'uid' => $uids[$n % 2 ? 'editor' : 'editor2'],
    'moderation_state' => $n % 9 ? 'published' : 'draft',
    'created' => $time,
    'changed' => $time + 60,
    'revision_timestamp' => $time,
    'revision_uid' => $uids['editor'],
    'field_number' => sprintf('%s-%04d', $type, $n),
    'field_rhythm' => $n % 3 ? 'daily' : 'weekend',
  ]);
  $node->save();
  $translate($node, $translations, $time + 120);
  $editions[$n] = (int) $node->id();
  return $editions[$n];
};
$words = ['nl' => 'Editie', 'en' => 'Edition', 'fr' => 'Édition'];
foreach (['issue' => 70, 'supplement' => 30] as $type => $count) {
  for ($i = 1; $i <= $count; $i++) {
    $langcode = ['nl', 'nl', 'fr', 'nl', 'en'][$i % 5];
    $values = [
      'field_stories' => $of(array_map(fn ($j) => ($n * 3 + $j * 2) % 120 + 1, range(0, 3 + $i % 7))),
      'field_also' => $n > 3 && $i % 2 === 0 ? $refs([$editions[$n - 1], $editions[$n - 3]]) : [],
      'field_day' => gmdate('Y-m-d', $start + $n * 86400),
    ];
    if ($type === 'supplement' && $i % 2) {
      $values['field_parent'] = ['target_id' => $editions[$i]];
    }
    if ($i % 2) {
      $values += [
        'field_intro' => ['value' => "<p>Intro <strong>$i</strong> <script>alert(1)</script></p>\n<p>twee</p>", 'format' => 'basic_html'],
        'field_banner' => "Kop $i",
        'field_photos' => $refs([$photos[$i % 6], $photos[($i + 1) % 6]]),
        'field_cover' => ['target_id' => $files[$i % 6], 'alt' => "Alt $i", 'title' => 'Titel "q"'],
        'field_section' => ['target_id' => $sections[$i % 3]],
        'field_online' => gmdate('Y-m-d\TH:i:s', $start + $n * 7200),
        'field_expires' => $start + $n * 86400,
        'field_link' => ['uri' => "https://example.com/$i?a=1&b=2", 'title' => "Link $i", 'options' => []],
        'field_labels' => ['print', "label-$i", 'Ümläut'],
        'field_featured' => $i % 4 === 1,
        'field_pages' => 10 + $i,
        'field_price' => '2.50',
        'field_rating' => 4.5,
      ];
    }
    $translations = [];
    foreach ($i % 5 < 2 ? array_diff_key($words, [$langcode => 1]) : [] as $other => $word) {
      $translations[$other] = ['title' => "$word $i ($type)", 'field_stories' => $of([($i * 5) % 120 + 1, ($i * 5 + 8) % 120 + 1, ($i * 5 + 3) % 120 + 1]), 'field_photos' => $refs([$photos[($i + 3) % 6]]), 'field_banner' => "$word $i", 'moderation_state' => $other === 'fr' && $i % 2 ? 'draft' : 'published'];
    }
    $make($type, $langcode, "$words[$langcode] $i ($type)", $values, $translations);
  }
}
$cases = [
  'bare' => $make('issue', 'nl', 'Leeg', ['field_rhythm' => NULL]),
  'odd' => $make('issue', 'nl', 'Een "vreemde" & <b>Ünïcode</b> – 100 % \\ _ 日本'),
  'twice' => $make('issue', 'nl', 'Tweemaal', ['field_stories' => $of([4, 5, 4])]),
  'many' => $make('issue', 'nl', 'Veel', ['field_stories' => $of(range(1, 60))]),
  'dangling' => $make('issue', 'nl', 'Verdwenen', ['field_stories' => $of([3, 121, 4, 122]), 'field_section' => ['target_id' => $sections[3]]]),
  'hiddenTargets' => $make('issue', 'nl', 'Verborgen', ['field_stories' => $of([8, 40, 1]), 'field_photos' => $refs([$photos[5], $photos[0]])]),
  'und' => $make('issue', 'und', 'In geen taal', ['field_stories' => $of([5, 1])]),
  'translated' => $make('issue', 'nl', 'Vertaald', ['field_stories' => $of([1, 3, 6])], ['fr' => ['title' => 'Traduite', 'field_stories' => $of([5, 2, 13, 30]), 'moderation_state' => 'published']]),
  'archived' => $make('issue', 'nl', 'Archief', ['moderation_state' => 'published', 'field_stories' => $of([1])]),
];
$archived = Node::load($cases['archived']);
$archived->set('moderation_state', 'archived')->set('changed', $start + 86400 * 7)->setNewRevision();
$archived->save();

// Drafts over published revisions, one of them of a translation alone.
$pending = [];
foreach ([7, 14, 21, 73] as $number) {
  $draft = Node::load($editions[$number]);
  $draft->set('title', "Concept $number")->set('field_stories', $of([2, 4]))->set('moderation_state', 'draft');
  $draft->set('changed', $start + 86400 * 7 + $number)->setNewRevision();
  $draft->save();
  $pending[] = $editions[$number];
}
$translation = Node::load($editions[11])->getTranslation('en');
$translation->set('title', 'Draft of a translation')->set('moderation_state', 'draft')->set('changed', $start + 86400 * 7)->setNewRevision();
$translation->save();
$pending[] = $editions[11];

Node::load($stories[121])->delete();
Node::load($stories[122])->delete();
Term::load($sections[3])->delete();
drupal_flush_all_caches();

return [
  'users' => $uids,
  'stories' => $stories,
  'photos' => $photos,
  'sections' => $sections,
  'editions' => array_values($editions),
  'pending' => $pending,
  'cases' => $cases,
];
