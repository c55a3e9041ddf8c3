<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Serialization\Json;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Field\FieldItemListInterface;
use Drupal\Core\Field\Plugin\Field\FieldType\EntityReferenceItem;
use Drupal\jsonapi\ResourceType\ResourceType;
use Drupal\jsonapi\Routing\Routes;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\Exception\PreconditionFailedHttpException;

/**
 * Keeps references to entities that are gone in a list that JSON:API changes.
 *
 * JSON:API can name no such entity, so whoever changes a list would drop them.
 * The header field Quoin-Keep-References says where they stand in the new list
 * and where they stand in the stored one: {"field_stories":[[0,2]]}. Nothing
 * else comes in by this way than what is stored.
 */
final class KeptReferences {

  /**
   * The name of the header field.
   */
  public const HEADER = 'Quoin-Keep-References';

  /**
   * How long it may be, in bytes.
   */
  private const LENGTH = 4096;

  /**
   * The attribute of a request whose references were kept.
   */
  private const KEPT = '_quoin_kept_references';

  public function __construct(
    private readonly RequestStack $requests,
    private readonly ChangedFields $changedFields,
  ) {}

  /**
   * Puts the references back, in the first save of the entity of a request.
   *
   * After validation, which refuses any list that has such a reference, and
   * after access to the fields was checked, which the document has to change.
   */
  public function keep(EntityInterface $entity): void {
    $request = $this->requests->getCurrentRequest();
    $value = $request?->headers->get(self::HEADER);
    if ($value === NULL || $request->isMethodCacheable() || $request->attributes->has(self::KEPT)) {
      return;
    }
    $named = $request->attributes->get('entity');
    $type = $request->attributes->get(Routes::RESOURCE_TYPE_KEY);
    $is_named = $named instanceof ContentEntityInterface && $entity instanceof ContentEntityInterface
      && $named->getEntityTypeId() === $entity->getEntityTypeId() && $named->id() === $entity->id();
    if (!$is_named || !$type instanceof ResourceType || !Routes::isJsonApiRequest($request->attributes->all())) {
      return;
    }
    $request->attributes->set(self::KEPT, TRUE);
    $stored = $this->changedFields->stored($entity, $entity->getLoadedRevisionId());
    $langcode = $entity->language()->getId();
    $stored = $stored?->hasTranslation($langcode) ? $stored->getTranslation($langcode) : $stored;
    foreach ($this->positionsIn($value) as $name => $positions) {
      $field = $type->getInternalName((string) $name);
      if (!in_array($name, $this->changedIn($request), TRUE) || !$entity->hasField($field) || !$stored?->hasField($field)) {
        throw new BadRequestHttpException(self::HEADER . " names $name, which the document does not change.");
      }
      $this->putBack($entity->get($field), $stored->get($field), $positions);
    }
  }

  /**
   * Puts references of a stored list into a new one.
   *
   * @param \Drupal\Core\Field\FieldItemListInterface $items
   *   The new list.
   * @param \Drupal\Core\Field\FieldItemListInterface $stored
   *   The stored one.
   * @param int[] $positions
   *   The positions in the stored list, by those in the new one.
   */
  private function putBack(FieldItemListInterface $items, FieldItemListInterface $stored, array $positions): void {
    $values = $items->getValue();
    foreach ($positions as $to => $from) {
      $item = $stored->get($from);
      if ($to > count($values) || !$item instanceof EntityReferenceItem || $item->isEmpty() || $item->get('entity')->getValue() !== NULL) {
        throw new PreconditionFailedHttpException(sprintf('%s has no reference at %d to what is gone, or no place %d.', $items->getName(), $from, $to));
      }
      array_splice($values, $to, 0, [$item->getValue()]);
    }
    $cardinality = $items->getFieldDefinition()->getFieldStorageDefinition()->getCardinality();
    if ($cardinality > 0 && count($values) > $cardinality) {
      throw new BadRequestHttpException(sprintf('%s has %d values at most.', $items->getName(), $cardinality));
    }
    $items->setValue($values);
  }

  /**
   * The positions in a header field, those in the new lists in their order.
   */
  private function positionsIn(string $value): array {
    $fields = strlen($value) <= self::LENGTH ? Json::decode($value) : NULL;
    $positions = [];
    foreach (is_array($fields) ? $fields : [NULL] as $name => $pairs) {
      foreach (is_array($pairs) && $pairs !== [] ? $pairs : [NULL] as $pair) {
        if (!is_array($pair) || !is_int($pair[0] ?? NULL) || !is_int($pair[1] ?? NULL) || min($pair) < 0 || isset($positions[$name][$pair[0]])) {
          throw new BadRequestHttpException(self::HEADER . ' has to be like {"field_stories":[[0,2]]}, with 4096 bytes at most.');
        }
        $positions[$name][$pair[0]] = $pair[1];
      }
      ksort($positions[$name]);
      if (count(array_unique($positions[$name])) < count($positions[$name])) {
        throw new BadRequestHttpException(self::HEADER . ' keeps a reference twice.');
      }
    }
    return $positions;
  }

  /**
   * The names of the relationships that the document of a request changes.
   */
  private function changedIn(Request $request): array {
    $relationships = Json::decode($request->getContent())['data']['relationships'] ?? [];
    return is_array($relationships) ? array_keys($relationships) : [];
  }

}
