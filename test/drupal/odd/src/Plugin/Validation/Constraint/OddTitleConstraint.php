<?php

namespace Drupal\odd\Plugin\Validation\Constraint;

use Drupal\Core\Entity\Plugin\Validation\Constraint\CompositeConstraintBase;

/**
 * Refuses one title, for the whole edition.
 *
 * @Constraint(id = "OddTitle", label = @Translation("Odd title"), type = {"entity"})
 */
class OddTitleConstraint extends CompositeConstraintBase {

  /**
   * What is said of it, in HTML.
   *
   * @var string
   */
  public $message = 'The title %title is <b>odd</b>.';

  /**
   * {@inheritdoc}
   */
  public function coversFields() {
    return ['title', 'odd_video'];
  }

}
