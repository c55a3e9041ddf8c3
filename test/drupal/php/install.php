<?php

/**
 * @file
 * Installs the profile that is named into the web root that is the working folder.
 */

$loader = require getcwd() . '/autoload.php';
require_once getcwd() . '/core/includes/install.core.inc';

install_drupal($loader, [
  'interactive' => FALSE,
  'site_path' => 'sites/default',
  'parameters' => ['profile' => $argv[1], 'langcode' => 'en'],
  'forms' => [
    'install_configure_form' => [
      'site_name' => 'CMS',
      'site_mail' => 'cms@example.com',
      'account' => ['name' => 'admin', 'mail' => 'admin@example.com', 'pass' => ['pass1' => 'admin', 'pass2' => 'admin']],
      'date_default_timezone' => 'Europe/Berlin',
      // Programmatic forms take NULL, not FALSE, for an empty checkbox.
      'enable_update_status_module' => NULL,
      'enable_update_status_emails' => NULL,
    ],
  ],
]);
