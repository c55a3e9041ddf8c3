<?php

/**
 * @file
 * Router of PHP's built-in server: files as they are, all else to Drupal.
 *
 * Core's own router does not decode the path ("cover%201.png" is then no file)
 * and would serve the database, which lies in the site's folder.
 */

$path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
$file = realpath($_SERVER['DOCUMENT_ROOT'] . $path);
$public = $_SERVER['DOCUMENT_ROOT'] . '/sites/default/files/';
if ($file && is_file($file) && (str_starts_with($file, $public) || preg_match('/\.(css|js|svg|png|ico|txt)$/', $file))) {
  return FALSE;
}
chdir($_SERVER['DOCUMENT_ROOT']);
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/index.php';
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
require 'index.php';
