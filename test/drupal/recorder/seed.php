<?php

/**
 * @file
 * Makes an entity of a test site from a seed of the stand-in.
 */

/**
 * Saves an entity with the ids, uuid and values of a seed (see store.ts of the
 * stand-in), or a new revision of it where it is there already.
 */
function seed(array $seed): void {
  [$type, $bundle] = explode('--', $seed['type']);
  $storage = \Drupal::entityTypeManager()->getStorage($type);
  $definition = $storage->getEntityType();
  $values = $seed['fields'];
  // Drupal makes what the stand-in is told: statistics, and ids of aliases.
  unset($values['comment'], $values['path']['pid']);
  if (empty($values['path']['alias'])) {
    unset($values['path']);
  }
  $values += match ($type) {
    'file' => ['filesize' => 282, 'filemime' => 'image/png', 'status' => 1],
    'node' => ['promote' => 1],
    'user' => ['pass' => $values['name'], 'timezone' => 'Europe/Berlin', 'preferred_langcode' => 'en'],
    default => [],
  };
  $revision = $definition->getKey('revision');
  $entity = $storage->load($seed['id']);
  if ($entity && $type !== 'user') {
    $entity->setNewRevision(TRUE);
  }
  $entity ??= $storage->create(array_filter([
    $definition->getKey('bundle') ?: '' => $bundle,
    $definition->getKey('id') => $seed['id'],
  ], 'strlen', ARRAY_FILTER_USE_KEY));
  $entity->set('uuid', $seed['uuid']);
  foreach ($values as $name => $value) {
    $entity->set($name, $value);
  }
  if ($revision) {
    $entity->set($revision, $seed['revision'] ?? $seed['id']);
  }
  $entity->save();
}
