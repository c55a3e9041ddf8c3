<?php

namespace Drupal\gazette\Entity;

use Drupal\Core\Entity\ContentEntityBase;
use Drupal\Core\Entity\EntityTypeInterface;
use Drupal\Core\Field\BaseFieldDefinition;

/**
 * An edition with nothing but an id and a uuid of another name.
 *
 * Drupal's JSON:API cannot create it: it looks for the field "uuid".
 *
 * @ContentEntityType(
 *   id = "scrap",
 *   label = @Translation("Scrap"),
 *   handlers = {
 *     "access" = "Drupal\gazette\GazetteAccessControlHandler",
 *   },
 *   base_table = "scrap",
 *   admin_permission = "administer gazettes",
 *   entity_keys = {
 *     "id" = "slip",
 *     "uuid" = "guid",
 *   },
 * )
 */
class Scrap extends ContentEntityBase {

  /**
   * {@inheritdoc}
   */
  public static function baseFieldDefinitions(EntityTypeInterface $entity_type) {
    $fields = parent::baseFieldDefinitions($entity_type);
    $fields['words'] = BaseFieldDefinition::create('string')->setLabel('Words');
    return $fields;
  }

}
