<?php

namespace Drupal\gazette\Entity;

use Drupal\Core\Config\Entity\ConfigEntityBundleBase;

/**
 * A bundle of gazettes, whose saves make no revisions.
 *
 * @ConfigEntityType(
 *   id = "gazette_sort",
 *   label = @Translation("Gazette sort"),
 *   handlers = {
 *     "access" = "Drupal\Core\Entity\EntityAccessControlHandler",
 *   },
 *   admin_permission = "administer gazette sorts",
 *   config_prefix = "gazette_sort",
 *   bundle_of = "gazette",
 *   entity_keys = {
 *     "id" = "code",
 *     "label" = "caption",
 *     "uuid" = "uuid",
 *   },
 *   config_export = {
 *     "code",
 *     "caption",
 *   },
 * )
 */
class GazetteSort extends ConfigEntityBundleBase {

  /**
   * The machine name.
   *
   * @var string
   */
  protected $code;

  /**
   * The label.
   *
   * @var string
   */
  protected $caption;

  /**
   * {@inheritdoc}
   */
  public function id() {
    return $this->code;
  }

}
