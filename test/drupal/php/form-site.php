<?php

/**
 * @file
 * Nodes with an edit form as editors know it: a widget of each kind, in core's
 * admin theme, with an editor for formatted texts.
 *
 * Returns the id of the node. Its uuid is derived from a name.
 */

use Drupal\Core\Entity\Entity\EntityFormDisplay;
use Drupal\Core\Field\FieldStorageDefinitionInterface;
use Drupal\editor\Entity\Editor;
use Drupal\field\Entity\FieldConfig;
use Drupal\field\Entity\FieldStorageConfig;
use Drupal\node\Entity\Node;
use Drupal\node\Entity\NodeType;

require_once __DIR__ . '/uuid.php';

\Drupal::service('theme_installer')->install(['claro', 'olivero']);
\Drupal::configFactory()->getEditable('system.theme')->set('default', 'olivero')->set('admin', 'claro')->save();
// Aggregates of scripts need functions that not every build of PHP has.
\Drupal::configFactory()->getEditable('system.performance')->set('js.preprocess', FALSE)->set('css.preprocess', FALSE)->save();
\Drupal::configFactory()->getEditable('node.settings')->set('use_admin_theme', TRUE)->save();
\Drupal::service('module_installer')->install(['ckeditor5', 'datetime_range', 'block']);
Editor::create([
  'format' => 'basic_html',
  'editor' => 'ckeditor5',
  'settings' => ['toolbar' => ['items' => ['bold', 'italic', 'link', 'bulletedList']], 'plugins' => []],
  'image_upload' => ['status' => FALSE],
])->save();

NodeType::create(['type' => 'issue', 'name' => 'Issue', 'uuid' => uuid_of('node_type:issue')])->save();
$many = FieldStorageDefinitionInterface::CARDINALITY_UNLIMITED;
$sections = ['home' => 'Home', 'world' => 'World', 'sport' => 'Sport'];
$stories = ['handler' => 'default:node', 'handler_settings' => ['target_bundles' => ['article' => 'article']]];
$fields = [
  'field_key' => ['string', 'string_textfield'],
  'field_intro' => ['text_long', 'text_textarea'],
  'field_note' => ['string_long', 'string_textarea'],
  'field_place' => ['list_string', 'options_select', ['allowed_values' => $sections]],
  'field_topics' => ['list_string', 'options_buttons', ['allowed_values' => $sections], $many],
  'field_lead' => ['boolean', 'boolean_checkbox'],
  'field_day' => ['datetime', 'datetime_default', ['datetime_type' => 'date']],
  'field_at' => ['datetime', 'datetime_default', ['datetime_type' => 'datetime']],
  'field_source' => ['link', 'link_default'],
  'field_marks' => ['string', 'string_textfield', [], $many],
  'field_stories' => ['entity_reference', 'entity_reference_autocomplete', ['target_type' => 'node'], $many, $stories],
  'field_photo' => ['image', 'image_image'],
];
$display = EntityFormDisplay::create(['targetEntityType' => 'node', 'bundle' => 'issue', 'mode' => 'default', 'status' => TRUE]);
foreach ($fields as $name => $field) {
  FieldStorageConfig::create(['field_name' => $name, 'entity_type' => 'node', 'type' => $field[0], 'settings' => $field[2] ?? [], 'cardinality' => $field[3] ?? 1])->save();
  FieldConfig::create(['field_name' => $name, 'entity_type' => 'node', 'bundle' => 'issue', 'label' => ucfirst(substr($name, 6)), 'settings' => $field[4] ?? []])->save();
  $display->setComponent($name, ['type' => $field[1], 'weight' => array_search($name, array_keys($fields))]);
}
$display->save();

user_role_grant_permissions('editor', ['create issue content', 'edit any issue content', 'view the administration theme', 'access content']);

$node = Node::create([
  'type' => 'issue',
  'uuid' => uuid_of('node:issue'),
  'title' => 'Harbour bridge to open',
  'uid' => user_load_by_name('editor')->id(),
  'field_key' => 'issue-1',
  'field_intro' => ['value' => '<p>The <strong>old</strong> bridge.</p>', 'format' => 'basic_html'],
  'field_note' => "One\nTwo",
  'field_place' => 'home',
  'field_topics' => ['home', 'sport'],
  'field_lead' => TRUE,
  'field_day' => '2026-10-06',
  'field_at' => '2026-10-06T10:00:00',
  'field_source' => ['uri' => 'https://example.com/a', 'title' => ''],
  'field_marks' => ['print', 'e-paper'],
  'field_stories' => [1, 2],
]);
$node->save();
\Drupal::service('router.builder')->rebuild();
drupal_flush_all_caches();
return (int) $node->id();
