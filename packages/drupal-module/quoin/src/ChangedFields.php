<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityTypeManagerInterface;
use Drupal\Core\Entity\RevisionableStorageInterface;
use Drupal\Core\Field\FieldDefinitionInterface;
use Drupal\Core\Field\FieldItemInterface;
use Drupal\Core\Field\FieldItemListInterface;

/**
 * Finds the fields in which an entity differs from what is stored.
 *
 * What no user has changed does not count: the keys and times that each save
 * sets, and how a form writes the same value (an empty text for none, "\r\n"
 * for "\n").
 */
final class ChangedFields {

  /**
   * How deep entities are compared that are saved along with another one.
   */
  private const DEPTH = 5;

  /**
   * The keys of an entity that no user changes.
   */
  private const KEYS = ['id', 'uuid', 'revision', 'default_langcode', 'revision_translation_affected'];

  /**
   * Fields that each save sets, besides those of the entity type's keys.
   */
  private const BOOKKEEPING = ['revision_default', 'revision_translation_affected', 'content_translation_changed'];

  public function __construct(private readonly EntityTypeManagerInterface $entityTypes) {}

  /**
   * The entity as it is stored, in the revision that a change was begun with.
   *
   * @param \Drupal\Core\Entity\ContentEntityInterface $entity
   *   The entity as it is to be saved.
   * @param int|string|null $revision_id
   *   That revision, where it has one.
   */
  public function stored(ContentEntityInterface $entity, int|string|null $revision_id): ?ContentEntityInterface {
    $storage = $this->entityTypes->getStorage($entity->getEntityTypeId());
    // Drupal has the default revision in a cache, and other ones in none.
    $stored = $storage->loadUnchanged($entity->id());
    $is_other = $revision_id !== NULL && $stored instanceof ContentEntityInterface && $stored->getRevisionId() != $revision_id;
    if ($is_other && $storage instanceof RevisionableStorageInterface) {
      $stored = $storage->loadRevision($revision_id);
    }
    return $stored instanceof ContentEntityInterface ? $stored : NULL;
  }

  /**
   * The names of the fields in which one translation of an entity differs.
   *
   * @param \Drupal\Core\Entity\ContentEntityInterface $entity
   *   The translation as it is to be saved.
   * @param \Drupal\Core\Entity\ContentEntityInterface|null $stored
   *   The entity as it is stored. Where it does not have the translation, all
   *   fields with a value count.
   *
   * @return string[]
   *   The names.
   */
  public function inTranslation(ContentEntityInterface $entity, ?ContentEntityInterface $stored): array {
    return $this->compare($entity, $stored, self::DEPTH);
  }

  /**
   * Compares all fields of a translation.
   */
  private function compare(ContentEntityInterface $entity, ?ContentEntityInterface $stored, int $depth): array {
    $langcode = $entity->language()->getId();
    $translation = $stored?->hasTranslation($langcode) ? $stored->getTranslation($langcode) : NULL;
    $names = [];
    foreach ($entity->getFieldDefinitions() as $name => $definition) {
      if ($this->isBookkeeping($entity, $definition)) {
        continue;
      }
      $before = $translation?->hasField($name) ? $translation->get($name) : NULL;
      if ($this->differs($entity->get($name), $before, $depth)) {
        $names[] = (string) $name;
      }
    }
    return $names;
  }

  /**
   * Whether a field tells nothing that a user has changed.
   */
  private function isBookkeeping(ContentEntityInterface $entity, FieldDefinitionInterface $definition): bool {
    $type = $entity->getEntityType();
    $keys = array_map([$type, 'getKey'], self::KEYS);
    $name = $definition->getName();
    return $definition->getType() === 'changed'
      || ($definition->isComputed() && $definition->isReadOnly() && $definition->getType() !== 'path')
      || in_array($name, $keys, TRUE)
      || in_array($name, self::BOOKKEEPING, TRUE)
      || in_array($name, $type->getRevisionMetadataKeys(), TRUE);
  }

  /**
   * Whether a field has other values than before.
   */
  private function differs(FieldItemListInterface $items, ?FieldItemListInterface $before, int $depth): bool {
    if ($this->valuesOf($items) !== ($before ? $this->valuesOf($before) : [])) {
      return TRUE;
    }
    foreach ($items as $item) {
      if ($depth > 0 && $this->savesAlong($item, $depth)) {
        return TRUE;
      }
    }
    return FALSE;
  }

  /**
   * Whether an item has an entity that is saved along, and has changed.
   *
   * A composite entity, such as a paragraph, is edited in the form of the
   * entity that it belongs to. Its id stays the same.
   */
  private function savesAlong(FieldItemInterface $item, int $depth): bool {
    $has_entity = $item->getFieldDefinition()->getType() === 'entity_reference_revisions';
    $entity = $has_entity ? $item->get('entity')->getValue() : NULL;
    if (!$entity instanceof ContentEntityInterface || !method_exists($entity, 'needsSave') || !$entity->needsSave()) {
      return FALSE;
    }
    $stored = $entity->isNew() ? NULL : $this->stored($entity, $entity->getLoadedRevisionId());
    return $stored === NULL || $this->compare($entity, $stored, $depth - 1) !== [];
  }

  /**
   * The values of a field as they are compared.
   */
  private function valuesOf(FieldItemListInterface $items): array {
    $values = [];
    foreach ($items as $item) {
      $value = $item->isEmpty() ? [] : $this->valueOf($item);
      if ($value !== []) {
        $values[] = $value;
      }
    }
    return $values;
  }

  /**
   * What of an item is stored.
   */
  private function valueOf(FieldItemInterface $item): array {
    $definition = $item->getFieldDefinition();
    if ($definition->getType() === 'path') {
      return $this->plain(['alias' => $item->get('alias')->getValue()]);
    }
    if (method_exists($item, 'hasNewEntity') && $item->hasNewEntity()) {
      return ['new' => TRUE];
    }
    $value = $item->getValue();
    if ($definition->getType() === 'boolean') {
      // A form writes FALSE where there was none.
      return empty($value['value']) ? [] : ['value' => '1'];
    }
    if (in_array($definition->getType(), ['decimal', 'float'], TRUE)) {
      return ['value' => (float) ($value['value'] ?? 0)];
    }
    if ($definition->getType() === 'image') {
      // Drupal measures the image itself, within the save.
      unset($value['width'], $value['height']);
    }
    $columns = $definition->getFieldStorageDefinition()->getColumns();
    // A map has its values without the name of its column.
    return $this->plain(array_intersect_key($value, $columns) ?: $value);
  }

  /**
   * Values without the differences that only say who has written them.
   */
  private function plain(array $values): array {
    $plain = [];
    foreach ($values as $name => $value) {
      $value = match (TRUE) {
        is_array($value) => $this->plain($value),
        is_bool($value) => $value ? '1' : '0',
        is_scalar($value) => str_replace(["\r\n", "\r"], "\n", (string) $value),
        is_object($value) => hash('sha256', serialize($value)),
        default => NULL,
      };
      if ($value !== NULL && $value !== '' && $value !== []) {
        $plain[$name] = $value;
      }
    }
    ksort($plain);
    return $plain;
  }

}
