<?php

namespace Drupal\publishing;

use Drupal\Core\Config\Entity\ConfigEntityBundleBase;
use Drupal\Core\Entity\RevisionableEntityBundleInterface;

/**
 * A bundle of editions.
 */
abstract class EditionTypeBase extends ConfigEntityBundleBase implements RevisionableEntityBundleInterface {

  /**
   * The machine name.
   *
   * @var string
   */
  protected $id;

  /**
   * The label.
   *
   * @var string
   */
  protected $label;

  /**
   * The description.
   *
   * @var string
   */
  protected $description = '';

  /**
   * Whether saving makes a new revision.
   *
   * @var bool
   */
  protected $new_revision = TRUE;

  /**
   * {@inheritdoc}
   */
  public function shouldCreateNewRevision() {
    return $this->new_revision;
  }

}
