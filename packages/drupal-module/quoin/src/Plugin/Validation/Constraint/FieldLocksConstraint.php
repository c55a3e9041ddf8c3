<?php

declare(strict_types=1);

namespace Drupal\quoin\Plugin\Validation\Constraint;

use Drupal\Core\StringTranslation\TranslatableMarkup;
use Drupal\Core\Validation\Attribute\Constraint;
use Symfony\Component\Validator\Constraint as SymfonyConstraint;

/**
 * No field is changed that somebody else has locked.
 */
#[Constraint(
  id: 'QuoinFieldLocks',
  label: new TranslatableMarkup('Field locks', [], ['context' => 'Validation']),
  type: ['entity'],
)]
final class FieldLocksConstraint extends SymfonyConstraint {

  /**
   * Says who edits the field.
   */
  public string $message = '%name is editing %field. Nothing was saved.';

  /**
   * The same where nobody knows who it is.
   */
  public string $messageUnknown = 'Somebody else is editing %field. Nothing was saved.';

}
