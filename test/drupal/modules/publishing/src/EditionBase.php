<?php

namespace Drupal\publishing;

use Drupal\Core\Entity\EditorialContentEntityBase;
use Drupal\Core\Entity\EntityTypeInterface;
use Drupal\Core\Field\BaseFieldDefinition;
use Drupal\user\EntityOwnerInterface;
use Drupal\user\EntityOwnerTrait;

/**
 * An edition (a collection of articles): fields named by the subclass.
 */
abstract class EditionBase extends EditorialContentEntityBase implements EntityOwnerInterface {

  use EntityOwnerTrait;

  // Names that are no entity keys.
  const CREATED = 'created';
  const CHANGED = 'changed';
  const KEY_FIELD = 'field_key';
  const NOTE_FIELD = 'field_internal_note';

  /**
   * Whether this entity type is one of ours.
   */
  public static function isBehind(EntityTypeInterface $entity_type): bool {
    return is_subclass_of($entity_type->getClass(), self::class);
  }

  /**
   * {@inheritdoc}
   */
  public static function baseFieldDefinitions(EntityTypeInterface $entity_type) {
    $fields = parent::baseFieldDefinitions($entity_type);
    $fields += static::ownerBaseFieldDefinitions($entity_type);
    $fields[$entity_type->getKey('label')] = BaseFieldDefinition::create('string')
      ->setLabel(t('Title'))
      ->setRequired(TRUE)
      ->setTranslatable(TRUE)
      ->setRevisionable(TRUE)
      ->setSetting('max_length', 255);
    $fields[$entity_type->getKey('owner')]->setLabel(t('Authored by'))->setRevisionable(TRUE);
    $fields[static::CREATED] = BaseFieldDefinition::create('created')
      ->setLabel(t('Authored on'))
      ->setRevisionable(TRUE)
      ->setTranslatable(TRUE);
    $fields[static::CHANGED] = BaseFieldDefinition::create('changed')
      ->setLabel(t('Changed'))
      ->setRevisionable(TRUE)
      ->setTranslatable(TRUE);
    return $fields;
  }

  /**
   * {@inheritdoc}
   */
  public function getChangedTime() {
    return $this->get(static::CHANGED)->value;
  }

  /**
   * {@inheritdoc}
   */
  public function setChangedTime($timestamp) {
    return $this->set(static::CHANGED, $timestamp);
  }

}
