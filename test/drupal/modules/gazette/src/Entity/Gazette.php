<?php

namespace Drupal\gazette\Entity;

use Drupal\Core\Entity\EditorialContentEntityBase;
use Drupal\Core\Entity\EntityTypeInterface;
use Drupal\Core\Field\BaseFieldDefinition;

/**
 * An edition whose keys have other names and whose fields are base fields.
 *
 * @ContentEntityType(
 *   id = "gazette",
 *   label = @Translation("Gazette"),
 *   label_collection = @Translation("Gazettes"),
 *   bundle_label = @Translation("Gazette sort"),
 *   handlers = {
 *     "access" = "Drupal\gazette\GazetteAccessControlHandler",
 *     "route_provider" = {
 *       "html" = "Drupal\Core\Entity\Routing\DefaultHtmlRouteProvider",
 *     },
 *   },
 *   base_table = "gazette",
 *   data_table = "gazette_texts",
 *   revision_table = "gazette_states",
 *   revision_data_table = "gazette_state_texts",
 *   translatable = TRUE,
 *   admin_permission = "administer gazettes",
 *   bundle_entity_type = "gazette_sort",
 *   entity_keys = {
 *     "id" = "nr",
 *     "revision" = "state",
 *     "bundle" = "sort",
 *     "label" = "headline",
 *     "langcode" = "tongue",
 *     "default_langcode" = "first_tongue",
 *     "revision_translation_affected" = "state_touched",
 *     "uuid" = "uuid",
 *     "published" = "live",
 *   },
 *   revision_metadata_keys = {
 *     "revision_user" = "state_by",
 *     "revision_created" = "state_at",
 *     "revision_log_message" = "state_note",
 *   },
 *   links = {
 *     "canonical" = "/gazettes/{gazette}/show",
 *   },
 * )
 */
class Gazette extends EditorialContentEntityBase {

  /**
   * {@inheritdoc}
   */
  public static function baseFieldDefinitions(EntityTypeInterface $entity_type) {
    $fields = parent::baseFieldDefinitions($entity_type);
    $make = fn (string $type, string $label) => BaseFieldDefinition::create($type)->setLabel($label)->setRevisionable(TRUE)->setTranslatable(TRUE);
    $fields['headline'] = $make('string', 'Headline')->setRequired(TRUE)->setSetting('max_length', 200);
    $fields['signature'] = $make('string', 'Signature')->setRequired(TRUE)->setTranslatable(FALSE)->addConstraint('UniqueField');
    $fields['flavour'] = $make('list_string', 'Flavour')->setSetting('allowed_values', ['weekday' => 'Wochentags', 'weekend' => 'Wochenende']);
    $fields['born'] = $make('created', 'Born');
    $fields['touched'] = $make('changed', 'Touched');
    $fields['opens'] = $make('timestamp', 'Opens');
    $fields['day'] = $make('datetime', 'Day')->setSetting('datetime_type', 'date');
    $fields['stories'] = $make('entity_reference', 'Stories')->setSetting('target_type', 'node')->setCardinality(-1)
      ->setSetting('handler_settings', ['target_bundles' => ['report' => 'report']]);
    $fields['chief'] = $make('entity_reference', 'Chief')->setSetting('target_type', 'user');
    $fields['enclosures'] = $make('entity_reference', 'Enclosures')->setSetting('target_type', 'leaflet')->setCardinality(-1);
    $fields['successor'] = $make('entity_reference', 'Successor')->setSetting('target_type', 'gazette');
    $fields['teaser'] = $make('text_long', 'Teaser');
    $fields['web'] = $make('link', 'Web')->setSettings(['title' => 1, 'link_type' => 17]);
    $fields['words'] = $make('string', 'Words')->setCardinality(-1);
    $fields['cost'] = $make('decimal', 'Cost')->setSettings(['precision' => 8, 'scale' => 2]);
    $fields['sheets'] = $make('integer', 'Sheets')->setSettings(['min' => 0, 'max' => 500]);
    $fields['hot'] = $make('boolean', 'Hot');
    $fields['facts'] = $make('map', 'Facts');
    $fields['memo'] = $make('string_long', 'Memo');
    return $fields;
  }

  /**
   * {@inheritdoc}
   */
  public function getChangedTime() {
    return $this->get('touched')->value;
  }

  /**
   * {@inheritdoc}
   */
  public function setChangedTime($timestamp) {
    return $this->set('touched', $timestamp);
  }

}
