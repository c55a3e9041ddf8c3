<?php

/**
 * @file
 * JSON:API, core REST and roles for core's own demonstration, a food magazine.
 */

use Drupal\user\Entity\Role;

require_once __DIR__ . '/rest.php';
require_once __DIR__ . '/uuid.php';

\Drupal::service('module_installer')->install(['jsonapi', 'rest', 'serialization', 'basic_auth']);
\Drupal::service('module_installer')->uninstall(['dblog', 'automated_cron']);
\Drupal::configFactory()->getEditable('jsonapi.settings')->set('read_only', FALSE)->save();
serve_by_rest(['node', 'media', 'taxonomy_term', 'user']);

$permissions = [
  'view any unpublished content', 'view own unpublished content', 'view latest version', 'view all revisions', 'use text format basic_html',
  'use editorial transition create_new_draft', 'use editorial transition publish', 'use editorial transition archive',
  'create content translations', 'update content translations', 'translate editable entities',
];
foreach (['article', 'page', 'recipe'] as $type) {
  array_push($permissions, "create $type content", "edit any $type content", "delete any $type content");
}
Role::create(['id' => 'desk', 'label' => 'Desk', 'uuid' => uuid_of('role:desk'), 'permissions' => $permissions])->save();
Role::create(['id' => 'service', 'label' => 'Service', 'uuid' => uuid_of('role:service'), 'permissions' => [...$permissions, 'administer content types', 'administer node fields', 'administer node form display']])->save();
\Drupal::service('router.builder')->rebuild();
