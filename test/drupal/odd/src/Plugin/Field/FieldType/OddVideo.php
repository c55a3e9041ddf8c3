<?php

namespace Drupal\odd\Plugin\Field\FieldType;

use Drupal\Core\Field\FieldItemBase;
use Drupal\Core\Field\FieldStorageDefinitionInterface;
use Drupal\Core\TypedData\DataDefinition;

/**
 * A video that is known by a property with the name of a computed one.
 *
 * @FieldType(id = "odd_video", label = @Translation("Video"))
 */
class OddVideo extends FieldItemBase {

  /**
   * {@inheritdoc}
   */
  public static function propertyDefinitions(FieldStorageDefinitionInterface $field_definition) {
    return [
      'url' => DataDefinition::create('string')->setLabel('URL'),
      'caption' => DataDefinition::create('string')->setLabel('Caption'),
    ];
  }

  /**
   * {@inheritdoc}
   */
  public static function mainPropertyName() {
    return 'url';
  }

  /**
   * {@inheritdoc}
   */
  public static function schema(FieldStorageDefinitionInterface $field_definition) {
    $text = ['type' => 'varchar', 'length' => 255];
    return ['columns' => ['url' => $text, 'caption' => $text]];
  }

  /**
   * {@inheritdoc}
   */
  public function isEmpty() {
    return (string) $this->url === '';
  }

}
