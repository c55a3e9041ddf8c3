<?php

/**
 * @file
 * Users and drafts beside the content of core's own demonstration.
 */

use Drupal\node\Entity\Node;
use Drupal\user\Entity\User;

require_once __DIR__ . '/uuid.php';

foreach (['editor' => ['desk'], 'reader' => [], 'service' => ['service']] as $name => $roles) {
  $user = User::create(['name' => $name, 'mail' => "$name@example.com", 'pass' => $name, 'status' => 1, 'roles' => $roles, 'uuid' => uuid_of("user:$name")]);
  $user->save();
}
$ids = array_map('intval', array_values(\Drupal::entityQuery('node')->accessCheck(FALSE)->condition('type', 'recipe')->sort('nid')->execute()));

// One was taken back, one has a draft over what is published.
$archived = Node::load($ids[1]);
$archived->set('moderation_state', 'archived')->setNewRevision();
$archived->save();
$draft = Node::load($ids[3]);
$draft->set('title', 'A draft')->set('moderation_state', 'draft')->setNewRevision();
$draft->save();
drupal_flush_all_caches();

return ['editions' => $ids, 'pending' => [$ids[3]]];
