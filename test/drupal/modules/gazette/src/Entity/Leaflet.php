<?php

namespace Drupal\gazette\Entity;

use Drupal\Core\Entity\ContentEntityBase;
use Drupal\Core\Entity\EntityTypeInterface;
use Drupal\Core\Field\BaseFieldDefinition;

/**
 * An edition without bundles, revisions, languages, a status or a time of change.
 *
 * @ContentEntityType(
 *   id = "leaflet",
 *   label = @Translation("Leaflet"),
 *   handlers = {
 *     "access" = "Drupal\gazette\GazetteAccessControlHandler",
 *   },
 *   base_table = "leaflet",
 *   admin_permission = "administer gazettes",
 *   entity_keys = {
 *     "id" = "slip",
 *     "label" = "caption",
 *     "uuid" = "uuid",
 *   },
 * )
 */
class Leaflet extends ContentEntityBase {

  /**
   * {@inheritdoc}
   */
  public static function baseFieldDefinitions(EntityTypeInterface $entity_type) {
    $fields = parent::baseFieldDefinitions($entity_type);
    $make = fn (string $type, string $label) => BaseFieldDefinition::create($type)->setLabel($label);
    $fields['caption'] = $make('string', 'Caption')->setRequired(TRUE);
    $fields['mark'] = $make('string', 'Mark');
    // Reserved by JSON:API, which calls it leaflet_type.
    $fields['type'] = $make('list_string', 'Type')->setSetting('allowed_values', ['folded' => 'Folded', 'flat' => 'Flat']);
    $fields['pieces'] = $make('entity_reference', 'Pieces')->setSetting('target_type', 'node')->setCardinality(-1);
    $fields['due'] = $make('timestamp', 'Due');
    $fields['number'] = $make('integer', 'Number')->setSetting('min', 0);
    return $fields;
  }

}
