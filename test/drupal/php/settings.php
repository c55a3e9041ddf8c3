<?php

/**
 * @file
 * Settings of a test site. What changes from site to site lies beside it.
 */

$databases['default']['default'] = [
  'driver' => 'sqlite',
  'database' => $app_root . '/' . $site_path . '/site.sqlite',
  'namespace' => 'Drupal\\sqlite\\Driver\\Database\\sqlite',
  'autoload' => 'core/modules/sqlite/src/Driver/Database/sqlite/',
  // Tests value speed over surviving a power cut, and waiting over failing.
  'init_commands' => [
    'sync' => 'PRAGMA synchronous=OFF',
    'wait' => 'PRAGMA busy_timeout=60000',
  ],
];
if ($server = getenv('DRUPAL_DATABASE')) {
  // database.ts makes it.
  $databases['default']['default'] = \Drupal\Core\Database\Database::convertDbUrlToConnectionInfo($server . '/quoin_' . substr(md5($app_root), 0, 12), TRUE);
}
// Equal in all sites: a session of one is nothing to another all the same.
$settings['hash_salt'] = 'quoin-test-sites';
$settings['config_sync_directory'] = $site_path . '/sync';
$settings['file_public_path'] = $site_path . '/files';
$settings['container_yamls'][] = $app_root . '/' . $site_path . '/services.yml';
$settings['trusted_host_patterns'] = ['^127\.0\.0\.1$', '^localhost$'];
$settings['skip_permissions_hardening'] = TRUE;
$settings['update_free_access'] = FALSE;
$config['system.logging']['error_level'] = 'hide';
