<?php

/**
 * @file
 * Modules, languages, fields, roles and REST resources of the strange site.
 */

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
]);
foreach (['de', 'fr'] as $langcode) {
  ConfigurableLanguage::createFromLangcode($langcode)->set('uuid', uuid_of("language:$langcode"))->save();
}
$config = \Drupal::configFactory();
$config->getEditable('system.site')->set('uuid', uuid_of('site'))->set('default_langcode', 'de')->save();
$config->getEditable('language.negotiation')->set('url.prefixes', ['de' => '', 'en' => 'en', 'fr' => 'france'])->save();
$config->getEditable('system.date')->set('timezone.default', 'Europe/Vienna')->save();
$config->getEditable('jsonapi.settings')->set('read_only', FALSE)->save();
\Drupal::languageManager()->reset();
\Drupal::service('module_installer')->install(['gazette']);
\Drupal::service('module_installer')->uninstall(['dblog']);

FilterFormat::create(['format' => 'plain_html', 'name' => 'HTML', 'uuid' => uuid_of('filter_format:plain_html')])->save();
NodeType::create(['type' => 'report', 'name' => 'Report', 'uuid' => uuid_of('node_type:report')])->save();
NodeType::create(['type' => 'comment', 'name' => 'Comment', 'uuid' => uuid_of('node_type:comment')])->save();
Vocabulary::create(['vid' => 'beats', 'name' => 'Beats', 'uuid' => uuid_of('vocabulary:beats')])->save();
foreach (['sheet' => 'Blatt', 'extra' => 'Beilage'] as $code => $caption) {
  \Drupal::entityTypeManager()->getStorage('gazette_sort')->create(['code' => $code, 'caption' => $caption, 'uuid' => uuid_of("gazette_sort:$code")])->save();
}

$field = function (string $name, string $type, array $storage, array $settings, array $bundles): void {
  FieldStorageConfig::create(['field_name' => $name, 'entity_type' => 'gazette', 'type' => $type, 'settings' => $storage, 'uuid' => uuid_of("storage:$name")])->save();
  foreach ($bundles as $bundle) {
    FieldConfig::create(['field_name' => $name, 'entity_type' => 'gazette', 'bundle' => $bundle, 'label' => $name, 'translatable' => FALSE, 'settings' => $settings, 'uuid' => uuid_of("field:$bundle.$name")])->save();
  }
};
$field('field_photo', 'image', ['uri_scheme' => 'public'], ['file_extensions' => 'png', 'alt_field' => TRUE, 'title_field' => TRUE], ['sheet', 'extra']);
$field('field_beat', 'entity_reference', ['target_type' => 'taxonomy_term'], ['handler' => 'default:taxonomy_term', 'handler_settings' => ['target_bundles' => ['beats' => 'beats']]], ['sheet']);

serve_by_rest(['gazette', 'leaflet', 'scrap', 'node']);
foreach (['anonymous', 'authenticated'] as $role) {
  user_role_grant_permissions($role, ['read gazettes', 'access content']);
}
Role::create(['id' => 'editor', 'label' => 'Editor', 'uuid' => uuid_of('role:editor'), 'permissions' => [
  'read gazette drafts', 'write gazettes', 'read gazette memo', 'view own unpublished content', 'use text format plain_html',
]])->save();
\Drupal::service('router.builder')->rebuild();
