<?php

/**
 * @file
 * Fills the magazine with samples that core's own field types generate.
 *
 * As layout_builder's sample entities are made. What a sample is depends on a
 * seed, so that each installation has the same.
 */

use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\file\Entity\File;
use Drupal\media\Entity\Media;
use Drupal\menu_link_content\Entity\MenuLinkContent;
use Drupal\node\Entity\Node;
use Drupal\taxonomy\Entity\Term;
use Drupal\user\Entity\User;

require_once __DIR__ . '/uuid.php';

mt_srand(37);
$start = 1767225600;
User::load(1)->set('uuid', uuid_of('user:admin'))->set('timezone', 'Europe/Paris')->set('langcode', 'fr')->save();
$roles = ['editor' => ['redaction'], 'chief' => ['responsable'], 'reader' => [], 'service' => ['service']];
foreach ($roles as $name => $own) {
  User::create(['name' => $name, 'mail' => "$name@example.com", 'pass' => $name, 'status' => 1, 'roles' => $own, 'timezone' => 'Europe/Paris', 'uuid' => uuid_of("user:$name")])->save();
}

foreach (['Politique', 'Science', 'Livres', 'Idées'] as $i => $name) {
  Term::create(['vid' => 'rubrique', 'name' => $name, 'langcode' => 'fr', 'uuid' => uuid_of("rubrique:$i"), 'changed' => $start, 'path' => $i === 1 ? ['alias' => '/rubriques/science', 'langcode' => 'fr'] : NULL])->save();
}
foreach (range(1, 4) as $i) {
  $image = imagecreatetruecolor(10 * $i, 10 * $i);
  imagepng($image, \Drupal::service('file_system')->realpath('public://') . "/photo $i.png");
  $file = File::create(['uri' => "public://photo $i.png", 'uid' => 2, 'status' => 1, 'uuid' => uuid_of("photo-file:$i")]);
  $file->save();
  Media::create(['bundle' => 'photo', 'name' => "Photo $i", 'langcode' => 'fr', 'uid' => 2, 'status' => $i < 4, 'uuid' => uuid_of("photo:$i"), 'field_media_image' => ['target_id' => $file->id(), 'alt' => "Photo $i"]])->save();
}

/**
 * Gives fields of an entity samples of their types.
 */
$fill = function (ContentEntityInterface $entity, callable $wanted): void {
  foreach ($entity->getFieldDefinitions() as $name => $definition) {
    if (str_starts_with($name, 'field_') && $wanted($name)) {
      $cardinality = $definition->getFieldStorageDefinition()->getCardinality();
      $entity->get($name)->generateSampleItems($cardinality < 0 ? mt_rand(1, 4) : $cardinality);
    }
  }
};

$papers = [];
for ($i = 1; $i <= 40; $i++) {
  $type = $i % 4 ? 'papier' : 'portrait';
  $tongue = ['fr', 'fr', 'de', 'fr', 'en', 'und'][$i % 6];
  $node = Node::create(['type' => $type, 'title' => "Papier $i", 'langcode' => $tongue, 'uid' => 2 + $i % 2, 'uuid' => uuid_of("papier:$i"), 'created' => $start + $i * 60, 'path' => $i % 5 ? NULL : ['alias' => "/papiers/$i", 'langcode' => $tongue]]);
  $fill($node, fn () => TRUE);
  $type === 'papier' ? $node->set('moderation_state', $i % 7 ? 'published' : 'draft') : $node->set('status', $i % 8 ? 1 : 0);
  $node->save();
  if ($type === 'papier' && $i % 3 === 0 && $tongue !== 'und') {
    $other = $tongue === 'fr' ? 'de' : 'fr';
    $node->addTranslation($other, ['title' => "Papier $i, $other", 'moderation_state' => $i % 2 ? 'published' : 'draft', 'content_translation_source' => $tongue])->save();
  }
  $papers[] = (int) $node->id();
}

$editions = [];
for ($i = 1; $i <= 60; $i++) {
  $vocabulary = $i % 4 ? 'numero' : 'hors_serie';
  $tongue = ['fr', 'fr', 'de', 'fr', 'en'][$i % 5];
  $term = Term::create([
    'vid' => $vocabulary,
    'name' => "Numéro $i",
    'langcode' => $tongue,
    'uuid' => uuid_of("numero:$i"),
    'changed' => $start + $i * 3600,
    'weight' => $i % 3,
    'parent' => $i % 10 === 0 ? [$editions[0]] : [],
    'description' => $i % 2 ? ['value' => "<p>Description $i &amp; <em>suite</em></p>", 'format' => 'riche'] : NULL,
    'path' => $i % 6 ? NULL : ['alias' => "/numeros/$i", 'langcode' => $tongue],
  ]);
  // Each third has few values, and those by chance. A reference without possible targets would make its own.
  $fill($term, fn (string $name): bool => ($name !== 'field_a_lire' || $i > 8) && ($i % 3 !== 0 || mt_rand(0, 3) === 0));
  $term->set('field_cote', sprintf('C-%04d', $i))->set('field_parution', gmdate('Y-m-d', $start + $i * 86400 * 7));
  $sommaire = array_map(fn (int $k): array => ['target_id' => $papers[($i * 3 + $k * 5) % 40]], range(0, 2 + $i % 5));
  $term->set('field_sommaire', $i === 2 ? [] : $sommaire);
  foreach ($term->getFieldDefinitions() as $name => $definition) {
    if (str_starts_with($definition->getType(), 'text') && str_starts_with($name, 'field_') && !$term->get($name)->isEmpty()) {
      $term->get($name)->format = 'riche';
    }
  }
  $term->set('moderation_state', $i % 9 ? 'published' : ($i % 2 ? 'draft' : 'relecture'));
  $term->save();
  if ($i % 4 < 2) {
    foreach (array_diff($i % 3 ? ['de'] : ['de', 'fr', 'en'], [$tongue]) as $other) {
      $translation = $term->addTranslation($other, ['name' => "Numéro $i, $other", 'moderation_state' => $i % 8 ? 'published' : 'draft', 'content_translation_source' => $tongue]);
      $translation->set('field_sommaire', array_reverse($sommaire));
      $term->setNewRevision(FALSE);
      $term->save();
    }
  }
  $editions[] = (int) $term->id();
}
MenuLinkContent::create(['menu_name' => 'kiosque', 'title' => 'Dernier numéro', 'link' => ['uri' => "internal:/taxonomy/term/{$editions[59]}"], 'langcode' => 'fr'])->save();

$withdrawn = Term::load($editions[10]);
$withdrawn->set('moderation_state', 'retire')->setNewRevision();
$withdrawn->save();
$draft = Term::load($editions[12]);
$draft->set('name', 'Un brouillon')->set('moderation_state', 'draft')->setNewRevision();
$draft->save();
Node::load($papers[39])->delete();
drupal_flush_all_caches();

return ['editions' => $editions, 'pending' => [$editions[12]]];
