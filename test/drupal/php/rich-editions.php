<?php

/**
 * @file
 * Rich editions on a test site, as a publisher has them: nodes under moderation,
 * each with media, terms and many references.
 *
 * Expects $references: how many articles each edition refers to, and $first: the
 * id of the first one, of four digits. The others follow. Uuids end in the ids.
 */

use Drupal\Core\Field\FieldStorageDefinitionInterface;
use Drupal\field\Entity\FieldConfig;
use Drupal\field\Entity\FieldStorageConfig;
use Drupal\media\Entity\Media;
use Drupal\media\Entity\MediaType;
use Drupal\node\Entity\Node;
use Drupal\node\Entity\NodeType;
use Drupal\workflows\Entity\Workflow;

\Drupal::service('module_installer')->install(['media', 'workflows', 'content_moderation']);
NodeType::create(['type' => 'issue', 'name' => 'Issue'])->save();

$photo = MediaType::create(['id' => 'photo', 'label' => 'Photo', 'source' => 'image']);
$photo->save();
$source = $photo->getSource()->createSourceField($photo);
$source->getFieldStorageDefinition()->save();
$source->save();
$photo->set('source_configuration', ['source_field' => $source->getName()])->save();

$many = FieldStorageDefinitionInterface::CARDINALITY_UNLIMITED;
$field = function (string $name, string $type, array $settings = [], int $cardinality = 1): void {
  FieldStorageConfig::create(['field_name' => $name, 'entity_type' => 'node', 'type' => $type, 'settings' => $settings, 'cardinality' => $cardinality])->save();
  FieldConfig::create(['field_name' => $name, 'entity_type' => 'node', 'bundle' => 'issue', 'label' => $name])->save();
};
$field('field_key', 'string');
$field('field_day', 'datetime', ['datetime_type' => 'date']);
$field('field_summary', 'text_long');
$field('field_price', 'decimal', ['precision' => 10, 'scale' => 2]);
$field('field_labels', 'string', [], $many);
$field('field_section', 'entity_reference', ['target_type' => 'taxonomy_term']);
$field('field_stories', 'entity_reference', ['target_type' => 'node'], $many);
$field('field_photos', 'entity_reference', ['target_type' => 'media'], $many);

$workflow = Workflow::create(['type' => 'content_moderation', 'id' => 'editorial', 'label' => 'Editorial']);
$workflow->getTypePlugin()->addEntityTypeAndBundle('node', 'issue');
$workflow->save();
user_role_grant_permissions('editor', [
  'create issue content', 'edit any issue content', 'view any unpublished content', 'view latest version', 'view media',
  'use editorial transition create_new_draft', 'use editorial transition publish',
]);

$editor = user_load_by_name('editor');
$photos = [];
foreach ([1, 2, 3] as $file) {
  $media = Media::create(['bundle' => 'photo', 'name' => "Photo $file", 'uid' => $editor->id(), $source->getName() => ['target_id' => $file, 'alt' => "Photo $file"]]);
  $media->save();
  $photos[] = ['target_id' => $media->id()];
}
$stories = [];
foreach (range(1, max($references)) as $number) {
  $node = Node::create(['type' => 'article', 'title' => "Story $number", 'uid' => $editor->id()]);
  $node->save();
  $stories[] = ['target_id' => $node->id()];
}

foreach ($references as $number => $count) {
  $id = $first + $number;
  Node::create([
    'nid' => $id,
    'uuid' => "00000000-0000-4000-8000-00000000$id",
    'type' => 'issue',
    'title' => "Issue $number",
    'uid' => $editor->id(),
    'moderation_state' => 'published',
    'field_key' => "issue-$number",
    'field_day' => '2026-10-06',
    'field_summary' => ['value' => "<p>What is in issue <strong>$number</strong>.</p>", 'format' => 'basic_html'],
    'field_price' => '2.90',
    'field_labels' => ['print', 'e-paper', 'weekend'],
    'field_section' => ['target_id' => 1],
    'field_stories' => array_slice($stories, 0, $count),
    'field_photos' => $photos,
  ])->enforceIsNew()->save();
}
\Drupal::service('router.builder')->rebuild();
drupal_flush_all_caches();
