<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Database\Connection;
use Drupal\Core\Database\Query\SelectInterface;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityTypeManagerInterface;
use Drupal\Core\Entity\Sql\SqlEntityStorageInterface;

/**
 * Reads which revisions of an entity are stored, past all caches.
 */
final class StoredRevisions {

  public function __construct(
    private readonly EntityTypeManagerInterface $entityTypes,
    private readonly Connection $database,
  ) {}

  /**
   * Whether the revisions of an entity are in a table of the database.
   */
  public function has(ContentEntityInterface $entity): bool {
    return $entity->getEntityType()->isRevisionable()
      && $this->entityTypes->getStorage($entity->getEntityTypeId()) instanceof SqlEntityStorageInterface;
  }

  /**
   * The ids of an entity's default revision and of its latest one.
   *
   * @return int[]
   *   The ids, by "default" and "latest".
   */
  public function present(ContentEntityInterface $entity): array {
    return [
      'default' => (int) $this->defaultRevision($entity)->execute()->fetchField(),
      'latest' => (int) $this->latestRevision($entity)->execute()->fetchField(),
    ];
  }

  /**
   * The same ids, which nobody changes until the transaction ends.
   *
   * MySQL reads an older snapshot within a transaction, but not where it locks
   * what it reads; SQLite has one writer at a time.
   */
  public function locked(ContentEntityInterface $entity): array {
    $default = (int) $this->defaultRevision($entity)->forUpdate()->execute()->fetchField();
    $latest = $this->latestRevision($entity);
    // Who saves a default revision locks its row of this table first, and then
    // that of the base table: to wait for it here would be a deadlock.
    if ($default !== (int) $entity->getLoadedRevisionId()) {
      $latest->forUpdate();
    }
    return ['default' => $default, 'latest' => (int) $latest->execute()->fetchField()];
  }

  /**
   * The query of the id of an entity's default revision.
   */
  private function defaultRevision(ContentEntityInterface $entity): SelectInterface {
    $type = $entity->getEntityType();
    return $this->database->select($type->getBaseTable(), 'b')
      ->fields('b', [$type->getKey('revision')])
      ->condition('b.' . $type->getKey('id'), $entity->id());
  }

  /**
   * The query of the id of an entity's latest revision.
   */
  private function latestRevision(ContentEntityInterface $entity): SelectInterface {
    $type = $entity->getEntityType();
    return $this->database->select($type->getRevisionTable(), 'r')
      ->fields('r', [$type->getKey('revision')])
      ->condition('r.' . $type->getKey('id'), $entity->id())
      ->orderBy('r.' . $type->getKey('revision'), 'DESC')
      ->range(0, 1);
  }

}
