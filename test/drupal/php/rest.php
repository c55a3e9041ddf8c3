<?php

/**
 * @file
 * Core REST's resources on the test sites.
 */

use Drupal\rest\Entity\RestResourceConfig;

/**
 * Lets core REST serve entity types as JSON, with every method it has.
 *
 * @param string[] $types
 *   Machine names of entity types.
 */
function serve_by_rest(array $types): void {
  foreach ($types as $type) {
    // The rest module brings its own for nodes.
    RestResourceConfig::load("entity.$type")?->delete();
    RestResourceConfig::create([
      'id' => "entity.$type",
      'plugin_id' => "entity:$type",
      'granularity' => 'resource',
      'configuration' => ['methods' => ['GET', 'POST', 'PATCH', 'DELETE'], 'formats' => ['json'], 'authentication' => ['basic_auth', 'cookie']],
      'status' => TRUE,
    ])->save();
  }
}
