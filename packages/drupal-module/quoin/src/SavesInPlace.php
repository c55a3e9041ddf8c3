<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Database\Connection;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityInterface;

/**
 * Remembers which revisions were saved again without making a new one.
 *
 * The id of such a revision names several states, so it is no precondition.
 */
final class SavesInPlace {

  /**
   * The table, as quoin_schema() defines it.
   */
  private const TABLE = 'quoin_saved_in_place';

  public function __construct(private readonly Connection $database) {}

  /**
   * Notes a save that made no revision, within its transaction.
   */
  public function note(EntityInterface $entity): void {
    if (!$entity instanceof ContentEntityInterface || !$entity->getEntityType()->isRevisionable()) {
      return;
    }
    // The storage updates the loaded revision after the hooks.
    if ($entity->getLoadedRevisionId() != $entity->getRevisionId()) {
      return;
    }
    $this->database->merge(self::TABLE)
      ->keys($this->keys($entity))
      ->fields(['revision_id' => (int) $entity->getRevisionId()])
      ->execute();
  }

  /**
   * Whether a revision was saved again since it was made.
   *
   * Reads what is committed, whatever the isolation of the transaction.
   */
  public function has(ContentEntityInterface $entity, int $revision_id): bool {
    $query = $this->database->select(self::TABLE, 's')->fields('s', ['revision_id'])->forUpdate();
    foreach ($this->keys($entity) as $column => $value) {
      $query->condition($column, $value);
    }
    return (int) $query->execute()->fetchField() === $revision_id;
  }

  /**
   * Forgets an entity that is deleted.
   */
  public function forget(EntityInterface $entity): void {
    if ($entity instanceof ContentEntityInterface && $entity->getEntityType()->isRevisionable()) {
      $query = $this->database->delete(self::TABLE);
      foreach ($this->keys($entity) as $column => $value) {
        $query->condition($column, $value);
      }
      $query->execute();
    }
  }

  /**
   * The key of an entity's row.
   */
  private function keys(ContentEntityInterface $entity): array {
    return ['entity_type' => $entity->getEntityTypeId(), 'entity_id' => (string) $entity->id()];
  }

}
