<?php

/**
 * @file
 * Puts other content into a test site: what was recorded, under its own ids.
 *
 * Expects $content: CmsContent of test/fixtures/site.ts, as an array. Returns
 * the uuids that had to stay, each with the one that it stands for.
 */

use Drupal\Core\Entity\EntityStorageInterface;
use Drupal\field\Entity\FieldConfig;
use Drupal\field\Entity\FieldStorageConfig;
use Drupal\node\Entity\NodeType;
use Drupal\user\Entity\Role;

require_once __DIR__ . '/seed.php';

$entity_types = \Drupal::entityTypeManager();
foreach (['publisher_container', 'node', 'taxonomy_term', 'file', 'path_alias', 'user'] as $type) {
  $storage = $entity_types->getStorage($type);
  assert($storage instanceof EntityStorageInterface);
  $storage->delete(array_filter($storage->loadMultiple(), fn ($entity) => $type !== 'user' || $entity->id() > 1));
}
\Drupal::database()->query('DELETE FROM {sqlite_sequence}');
\Drupal::service('module_installer')->uninstall(['language']);
\Drupal::service('module_installer')->install([
  'comment', 'page_cache', 'dynamic_page_cache', 'block', 'block_content',
  'contact', 'editor', 'menu_link_content', 'search', 'shortcut', 'views',
]);

// Modules bring another container.
$entity_types = \Drupal::entityTypeManager();

// What the standard profile gives to articles and users.
foreach (['article' => 'Article', 'page' => 'Basic page'] as $id => $label) {
  NodeType::load($id)->set('name', $label)->set('display_submitted', $id === 'article')->save();
}
$entity_types->getStorage('block_content_type')->create(['id' => 'basic', 'label' => 'Basic block'])->save();
$entity_types->getStorage('comment_type')->create(['id' => 'comment', 'label' => 'Default comments', 'target_entity_type_id' => 'node'])->save();
$fields = [
  ['node', 'article', 'comment', 'comment', ['comment_type' => 'comment'], []],
  ['node', 'article', 'field_image', 'image', [], []],
  ['user', 'user', 'user_picture', 'image', [], []],
];
foreach ($fields as [$type, $bundle, $name, $field_type, $storage_settings, $settings]) {
  FieldStorageConfig::create(['field_name' => $name, 'entity_type' => $type, 'type' => $field_type, 'settings' => $storage_settings])->save();
  FieldConfig::create(['field_name' => $name, 'entity_type' => $type, 'bundle' => $bundle, 'label' => $name, 'settings' => $settings, 'default_value' => $name === 'comment' ? [['status' => 2]] : []])->save();
}

foreach ($content['roles'] as $id => $permissions) {
  $role = Role::load($id) ?? Role::create(['id' => $id, 'label' => ucfirst($id)]);
  $role->set('permissions', $permissions)->save();
}
Role::load('service')?->delete();
user_role_grant_permissions('anonymous', ['access comments']);
user_role_grant_permissions('authenticated', ['access comments']);

$own_uuids = [];
$is_configuration = fn (array $seed): bool => isset($seed['config']);
foreach (array_filter($content['entities'], $is_configuration) as $seed) {
  $entity = $entity_types->getStorage(explode('--', $seed['type'])[0])->load($seed['id']);
  // The uuid of a field's storage is part of the names of its tables.
  if ($entity && $entity->getEntityTypeId() === 'field_storage_config') {
    $own_uuids[$entity->uuid()] = $seed['uuid'];
  }
  elseif ($entity) {
    \Drupal::configFactory()->getEditable($entity->getConfigDependencyName())->set('uuid', $seed['uuid'])->save();
  }
}
drupal_flush_all_caches();
foreach (array_filter($content['entities'], fn ($seed) => !$is_configuration($seed)) as $seed) {
  seed($seed);
}
// Made after their entities, which have a size already.
foreach ([1, 2, 3] as $i) {
  imagepng(imagecreatetruecolor(60 * $i, 40 * $i), \Drupal::service('file_system')->realpath('public://covers') . "/cover $i.png");
}
drupal_flush_all_caches();

return $own_uuids;
