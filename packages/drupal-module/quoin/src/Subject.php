<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityInterface;

/**
 * Names an entity as Quoin knows it.
 */
final class Subject {

  /**
   * The type, id, uuid and language of an entity.
   *
   * Quoin takes integer ids; of an entity with another one it goes by the uuid.
   */
  public static function of(ContentEntityInterface $entity): array {
    $id = (string) $entity->id();
    return [
      'type' => $entity->getEntityTypeId(),
      'id' => preg_match('/^\d{1,18}$/D', $id) === 1 ? $id : (string) $entity->uuid(),
      'uuid' => (string) $entity->uuid(),
      'language' => $entity->language()->getId(),
    ];
  }

}
