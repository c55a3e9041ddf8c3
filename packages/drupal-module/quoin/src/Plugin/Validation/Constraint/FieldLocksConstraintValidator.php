<?php

declare(strict_types=1);

namespace Drupal\quoin\Plugin\Validation\Constraint;

use Drupal\Core\DependencyInjection\ContainerInjectionInterface;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\quoin\OverlappingSaves;
use Drupal\quoin\SaveCheck;
use Symfony\Component\DependencyInjection\ContainerInterface;
use Symfony\Component\Validator\Constraint;
use Symfony\Component\Validator\ConstraintValidator;

/**
 * Asks Quoin whose locks are in the way of a save, unless it is stale.
 */
final class FieldLocksConstraintValidator extends ConstraintValidator implements ContainerInjectionInterface {

  public function __construct(
    private readonly SaveCheck $check,
    private readonly OverlappingSaves $overlappingSaves,
  ) {}

  /**
   * {@inheritdoc}
   */
  public static function create(ContainerInterface $container): self {
    return new self($container->get('quoin.save_check'), $container->get('quoin.overlapping_saves'));
  }

  /**
   * {@inheritdoc}
   */
  public function validate(mixed $value, Constraint $constraint): void {
    if (!$value instanceof ContentEntityInterface || !$constraint instanceof FieldLocksConstraint) {
      return;
    }
    if (!$this->check->isSkipped() && $this->overlappingSaves->isOverlapped($value)) {
      $this->context->addViolation($this->overlappingSaves->message());
      return;
    }
    foreach ($this->check->holders($value) as $field => $name) {
      $this->context
        ->buildViolation($name === NULL ? $constraint->messageUnknown : $constraint->message)
        ->setParameter('%name', (string) $name)
        ->setParameter('%field', (string) $value->getFieldDefinition($field)?->getLabel())
        ->atPath($field)
        ->addViolation();
    }
  }

}
