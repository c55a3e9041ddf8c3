<?php

/**
 * @file
 * Modules, languages, types, fields, roles and REST resources of a test site.
 *
 * Expects $names: the names of this variant, see variants.ts. Every uuid is
 * derived from a name, so that each installation has the same ones.
 */

use Drupal\Core\Field\FieldStorageDefinitionInterface;
use Drupal\field\Entity\FieldConfig;
use Drupal\field\Entity\FieldStorageConfig;
use Drupal\filter\Entity\FilterFormat;
use Drupal\language\Entity\ConfigurableLanguage;
use Drupal\node\Entity\NodeType;
use Drupal\taxonomy\Entity\Vocabulary;
use Drupal\user\Entity\Role;

require_once __DIR__ . '/rest.php';
require_once __DIR__ . '/uuid.php';

\Drupal::service('module_installer')->install([
  'jsonapi', 'rest', 'serialization', 'basic_auth', 'path', 'language',
  'options', 'datetime', 'text', 'link', 'image', 'taxonomy', 'filter',
  $names['module'],
]);
// It would write a row for every refused request.
\Drupal::service('module_installer')->uninstall(['dblog']);

$config = \Drupal::configFactory();
$config->getEditable('system.site')->set('uuid', uuid_of('site'))->save();
$config->getEditable('system.date')->set('timezone.default', 'Europe/Berlin')->save();
$config->getEditable('jsonapi.settings')->set('read_only', FALSE)->save();

foreach (['de', 'fr'] as $langcode) {
  ConfigurableLanguage::createFromLangcode($langcode)->set('uuid', uuid_of("language:$langcode"))->save();
}

foreach (['basic_html' => 'Basic HTML', 'full_html' => 'Full HTML'] as $id => $label) {
  FilterFormat::create([
    'format' => $id,
    'name' => $label,
    'uuid' => uuid_of("filter_format:$id"),
    'filters' => $id === 'full_html' ? [] : ['filter_html' => ['status' => TRUE, 'settings' => ['allowed_html' => '<a href> <em> <strong> <p> <br> <ul> <li>']]],
  ])->save();
}

NodeType::create(['type' => $names['article'], 'name' => 'Article', 'uuid' => uuid_of('node_type:article')])->save();
NodeType::create(['type' => 'page', 'name' => 'Page', 'uuid' => uuid_of('node_type:page')])->save();
foreach ([$names['sections'] => 'Sections', 'tags' => 'Tags'] as $id => $label) {
  Vocabulary::create(['vid' => $id, 'name' => $label, 'uuid' => uuid_of("vocabulary:$label")])->save();
}
$edition = $names['entityType'];
foreach ($names['bundles'] as $bundle) {
  \Drupal::entityTypeManager()->getStorage($names['bundleEntityType'])->create([
    'id' => $bundle['id'],
    'label' => $bundle['label'],
    'description' => $bundle['label'] . ' editions',
    'new_revision' => TRUE,
    'uuid' => uuid_of("$edition:" . $bundle['id']),
  ])->save();
}

/**
 * Makes a field on some bundles of an entity type.
 */
$field = function (string $entity_type, array $bundles, string $name, string $type, array $storage = [], array $settings = [], int $cardinality = 1, bool $required = FALSE): void {
  // The node module of some versions brings the storage of the body.
  FieldStorageConfig::loadByName($entity_type, $name) ?? FieldStorageConfig::create(['field_name' => $name, 'entity_type' => $entity_type, 'type' => $type, 'cardinality' => $cardinality, 'settings' => $storage, 'uuid' => uuid_of("storage:$entity_type.$name")])->save();
  foreach ($bundles as $bundle) {
    FieldConfig::create([
      'field_name' => $name,
      'entity_type' => $entity_type,
      'bundle' => $bundle,
      'label' => ucfirst(str_replace('_', ' ', preg_replace('/^field_(publisher_)?/', '', $name))),
      'required' => $required,
      'settings' => $settings,
      'uuid' => uuid_of("field:$entity_type.$bundle.$name"),
    ])->save();
  }
};
$many = FieldStorageDefinitionInterface::CARDINALITY_UNLIMITED;
$to = fn (string $type, string $bundle): array => ['handler' => "default:$type", 'handler_settings' => ['target_bundles' => [$bundle => $bundle]]];

$field('node', [$names['article'], 'page'], 'body', 'text_with_summary');
$field('node', [$names['article']], 'field_tags', 'entity_reference', ['target_type' => 'taxonomy_term'], $to('taxonomy_term', 'tags'), $many);

$bundles = array_column($names['bundles'], 'id');
$f = $names['fields'];
$field($edition, $bundles, $f['key'], 'string', ['max_length' => 255], [], 1, TRUE);
$field($edition, $bundles, $f['editionType'], 'list_string', ['allowed_values' => $names['editionTypes']]);
$field($edition, $bundles, $f['articles'], 'entity_reference', ['target_type' => 'node'], $to('node', $names['article']), $many);
$field($edition, $bundles, $f['publicationDate'], 'datetime', ['datetime_type' => 'date']);
$field($edition, $bundles, $f['publishedAt'], 'datetime', ['datetime_type' => 'datetime']);
$field($edition, $bundles, $f['expires'], 'timestamp');
$field($edition, $bundles, $f['description'], 'text_long');
$field($edition, $bundles, $f['link'], 'link', [], ['title' => 1, 'link_type' => 17]);
$field($edition, $bundles, $f['labels'], 'string', ['max_length' => 255], [], $many);
$field($edition, $bundles, $f['section'], 'entity_reference', ['target_type' => 'taxonomy_term'], $to('taxonomy_term', $names['sections']));
$field($edition, $bundles, $f['featured'], 'boolean', [], ['on_label' => 'On', 'off_label' => 'Off']);
$field($edition, $bundles, $f['pageCount'], 'integer', [], ['min' => 0, 'max' => 10000]);
$field($edition, $bundles, $f['price'], 'decimal', ['precision' => 10, 'scale' => 2]);
$field($edition, $bundles, $f['rating'], 'float');
$field($edition, $bundles, $f['cover'], 'image', ['uri_scheme' => 'public'], ['file_extensions' => 'png gif jpg jpeg', 'alt_field' => TRUE, 'alt_field_required' => FALSE, 'title_field' => TRUE]);
$field($edition, $bundles, $f['internalNote'], 'string_long');

serve_by_rest([$edition, 'node', 'taxonomy_term', 'user']);

foreach (['anonymous', 'authenticated'] as $role) {
  user_role_grant_permissions($role, ["view published $edition", 'access content']);
}
$article = $names['article'];
$writes = [
  "view unpublished $edition", "create $edition", "update $edition", "delete $edition", "view $edition revisions",
  'view publisher internal note', "create $article content", "edit any $article content", "delete any $article content",
  'view own unpublished content', 'use text format basic_html',
];
Role::create(['id' => 'editor', 'label' => 'Editor', 'uuid' => uuid_of('role:editor'), 'permissions' => $writes])->save();
// What a service account is given so that it can read the content model.
Role::create(['id' => 'service', 'label' => 'Service', 'uuid' => uuid_of('role:service'), 'permissions' => [...$writes, "administer $edition types", "administer $edition fields"]])->save();
\Drupal::service('router.builder')->rebuild();
