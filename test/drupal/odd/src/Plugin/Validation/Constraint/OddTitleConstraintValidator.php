<?php

namespace Drupal\odd\Plugin\Validation\Constraint;

use Symfony\Component\Validator\Constraint;
use Symfony\Component\Validator\ConstraintValidator;

/**
 * Validates OddTitle.
 */
class OddTitleConstraintValidator extends ConstraintValidator {

  /**
   * {@inheritdoc}
   */
  public function validate($entity, Constraint $constraint): void {
    $title = $entity->get('title')->value;
    if (str_starts_with((string) $title, 'Odd')) {
      $this->context->addViolation($constraint->message, ['%title' => $title]);
    }
  }

}
