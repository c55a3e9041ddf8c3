<?php

/**
 * @file
 * Modules, languages, types, fields, forms, roles and REST resources of the
 * site of nodes: a newsroom whose editions are nodes under moderation.
 */

use Drupal\Core\Field\FieldStorageDefinitionInterface;
use Drupal\field\Entity\FieldConfig;
use Drupal\field\Entity\FieldStorageConfig;
use Drupal\filter\Entity\FilterFormat;
use Drupal\language\Entity\ConfigurableLanguage;
use Drupal\media\Entity\MediaType;
use Drupal\node\Entity\NodeType;
use Drupal\taxonomy\Entity\Vocabulary;
use Drupal\user\Entity\Role;
use Drupal\workflows\Entity\Workflow;

require_once __DIR__ . '/rest.php';
require_once __DIR__ . '/uuid.php';

\Drupal::service('module_installer')->install([
  'jsonapi', 'rest', 'serialization', 'basic_auth', 'path', 'language',
  'options', 'datetime', 'text', 'link', 'image', 'taxonomy', 'filter', 'node',
]);
foreach (['nl', 'fr'] as $langcode) {
  ConfigurableLanguage::createFromLangcode($langcode)->set('uuid', uuid_of("language:$langcode"))->save();
}
$config = \Drupal::configFactory();
$config->getEditable('system.site')->set('uuid', uuid_of('site'))->set('default_langcode', 'nl')->save();
$config->getEditable('language.negotiation')->set('url.prefixes', ['nl' => '', 'en' => 'en', 'fr' => 'fr'])->save();
$config->getEditable('system.date')->set('timezone.default', 'Europe/Brussels')->save();
$config->getEditable('jsonapi.settings')->set('read_only', FALSE)->save();
\Drupal::languageManager()->reset();
\Drupal::service('module_installer')->install(['media', 'workflows', 'content_moderation', 'content_translation', 'field_ui', 'planner']);
\Drupal::service('module_installer')->uninstall(['dblog']);

foreach (['basic_html' => 'Basic HTML', 'full_html' => 'Full HTML'] as $id => $label) {
  FilterFormat::create([
    'format' => $id,
    'name' => $label,
    'uuid' => uuid_of("filter_format:$id"),
    'filters' => $id === 'full_html' ? [] : ['filter_html' => ['status' => TRUE, 'settings' => ['allowed_html' => '<a href> <em> <strong> <p> <br> <ul> <li>']]],
  ])->save();
}
Vocabulary::create(['vid' => 'sections', 'name' => 'Rubrieken', 'uuid' => uuid_of('vocabulary:sections')])->save();
$types = ['article' => 'Artikel', 'issue' => 'Dagblad', 'page' => 'Pagina', 'supplement' => 'Bijlage'];
foreach ($types as $type => $name) {
  NodeType::create(['type' => $type, 'name' => $name, 'new_revision' => TRUE, 'uuid' => uuid_of("node_type:$type")])->save();
}

$photo = MediaType::create(['id' => 'photo', 'label' => 'Foto', 'source' => 'image', 'uuid' => uuid_of('media_type:photo')]);
$photo->save();
$source = $photo->getSource()->createSourceField($photo);
$source->getFieldStorageDefinition()->set('uuid', uuid_of('storage:media.source'))->save();
$source->set('uuid', uuid_of('field:media.source'))->save();
$photo->set('source_configuration', ['source_field' => $source->getName()])->save();

/**
 * Makes a field on some node types, and its place in their forms.
 */
$field = function (array $bundles, string $name, string $label, string $type, string $widget, array $storage = [], array $settings = [], int $cardinality = 1, bool $required = FALSE): void {
  // In the order of their making.
  static $weight = 0;
  $weight++;
  // The node module of some versions brings the storage of the body.
  FieldStorageConfig::loadByName('node', $name) ?? FieldStorageConfig::create(['field_name' => $name, 'entity_type' => 'node', 'type' => $type, 'cardinality' => $cardinality, 'settings' => $storage, 'uuid' => uuid_of("storage:node.$name")])->save();
  foreach ($bundles as $bundle) {
    FieldConfig::create(['field_name' => $name, 'entity_type' => 'node', 'bundle' => $bundle, 'label' => $label, 'description' => "Hulp bij $label", 'required' => $required, 'settings' => $settings, 'uuid' => uuid_of("field:node.$bundle.$name")])->save();
    \Drupal::service('entity_display.repository')->getFormDisplay('node', $bundle)->setComponent($name, ['type' => $widget, 'weight' => $weight])->save();
  }
};
$many = FieldStorageDefinitionInterface::CARDINALITY_UNLIMITED;
$to = fn (string $type, string ...$bundles): array => ['handler' => "default:$type", 'handler_settings' => ['target_bundles' => array_combine($bundles, $bundles)]];
$editions = ['issue', 'supplement'];

// What an alphabet puts first is neither the key nor the running order.
$field($editions, 'field_number', 'Nummer', 'string', 'string_textfield', ['max_length' => 255], [], 1, TRUE);
$field($editions, 'field_rhythm', 'Ritme', 'list_string', 'options_select', ['allowed_values' => ['daily' => 'Dagelijks', 'weekend' => 'Weekend']]);
$field($editions, 'field_day', 'Dag', 'datetime', 'datetime_default', ['datetime_type' => 'date']);
$field($editions, 'field_stories', 'Stukken', 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'node'], $to('node', 'article', 'page'), $many);
$field($editions, 'field_also', 'Ook vandaag', 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'node'], $to('node', 'issue', 'supplement'), $many);
$field($editions, 'field_intro', 'Inleiding', 'text_long', 'text_textarea');
$field($editions, 'field_banner', 'Kop', 'string', 'string_textfield');
$field($editions, 'field_photos', "Foto's", 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'media'], $to('media', 'photo'), $many);
$field($editions, 'field_cover', 'Voorpagina', 'image', 'image_image', ['uri_scheme' => 'public'], ['file_extensions' => 'png', 'alt_field' => TRUE, 'alt_field_required' => FALSE, 'title_field' => TRUE]);
$field($editions, 'field_section', 'Rubriek', 'entity_reference', 'options_select', ['target_type' => 'taxonomy_term'], $to('taxonomy_term', 'sections'));
$field($editions, 'field_online', 'Online om', 'datetime', 'datetime_default', ['datetime_type' => 'datetime']);
$field($editions, 'field_expires', 'Vervalt', 'timestamp', 'datetime_timestamp');
$field($editions, 'field_link', 'Link', 'link', 'link_default', [], ['title' => 1, 'link_type' => 17]);
$field($editions, 'field_labels', 'Labels', 'string', 'string_textfield', ['max_length' => 255], [], $many);
$field($editions, 'field_featured', 'Uitgelicht', 'boolean', 'boolean_checkbox', [], ['on_label' => 'Aan', 'off_label' => 'Uit']);
$field($editions, 'field_pages', "Pagina's", 'integer', 'number', [], ['min' => 0, 'max' => 10000]);
$field($editions, 'field_price', 'Prijs', 'decimal', 'number', ['precision' => 10, 'scale' => 2]);
$field($editions, 'field_rating', 'Score', 'float', 'number');
// The supplement alone has it.
$field(['supplement'], 'field_parent', 'Hoort bij', 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'node'], $to('node', 'issue'));
$field(['article', 'page'], 'body', 'Tekst', 'text_with_summary', 'text_textarea_with_summary');
$field(['article'], 'field_related', 'Zie ook', 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'node'], $to('node', 'article'), $many);
$field(['article'], 'field_picture', 'Foto', 'entity_reference', 'entity_reference_autocomplete', ['target_type' => 'media'], $to('media', 'photo'));

$workflow = Workflow::create(['type' => 'content_moderation', 'id' => 'editorial', 'label' => 'Redactie', 'uuid' => uuid_of('workflow:editorial')]);
$plugin = $workflow->getTypePlugin();
$plugin->addState('archived', 'Archief');
$configuration = $plugin->getConfiguration();
$configuration['states']['archived'] += ['published' => FALSE, 'default_revision' => TRUE];
$plugin->setConfiguration($configuration);
$plugin->addTransition('archive', 'Archiveren', ['published'], 'archived');
foreach ($editions as $type) {
  $plugin->addEntityTypeAndBundle('node', $type);
}
$workflow->save();
foreach (array_keys($types) as $type) {
  \Drupal::service('content_translation.manager')->setEnabled('node', $type, TRUE);
}

serve_by_rest(['node', 'media', 'taxonomy_term', 'user']);
foreach (['anonymous', 'authenticated'] as $role) {
  user_role_grant_permissions($role, ['access content', 'view media']);
}
$permissions = [
  'view any unpublished content', 'view own unpublished content', 'view latest version', 'view all revisions', 'use text format basic_html',
  'use editorial transition create_new_draft', 'use editorial transition publish', 'use editorial transition archive',
  'create content translations', 'update content translations', 'translate editable entities',
];
foreach (array_keys($types) as $type) {
  array_push($permissions, "create $type content", "edit any $type content", "delete any $type content");
}
Role::create(['id' => 'editor', 'label' => 'Redactie', 'uuid' => uuid_of('role:editor'), 'permissions' => $permissions])->save();
// What a service account is given so that it can read the content model.
Role::create(['id' => 'service', 'label' => 'Dienst', 'uuid' => uuid_of('role:service'), 'permissions' => [...$permissions, 'administer content types', 'administer node fields', 'administer node form display']])->save();
\Drupal::service('router.builder')->rebuild();
