<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\content_moderation\Form\EntityModerationForm;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\Form\RevisionRevertForm;
use Drupal\Core\Form\FormStateInterface;
use Drupal\Core\Session\AccountInterface;
use Drupal\node\Form\NodeRevisionRevertForm;
use Drupal\quoin\Plugin\Validation\Constraint\FieldLocksConstraint;
use Symfony\Component\HttpFoundation\RequestStack;

/**
 * Checks the locks of forms that save an entity without validating it.
 *
 * These are the ones that revert to a revision, and content_moderation's one
 * beside a draft.
 */
final class UnvalidatedForms {

  /**
   * The name of the checkbox.
   */
  private const NAME = 'quoin_save_over';

  public function __construct(
    private readonly Connection $connection,
    private readonly SaveCheck $check,
    private readonly ChangedFields $changedFields,
    private readonly RequestStack $requests,
    private readonly AccountInterface $account,
  ) {}

  /**
   * Adds the check to such a form, and the checkbox to save over locks.
   */
  public function alter(array &$form, FormStateInterface $form_state): void {
    if ($this->connection->isConfigured() && ($this->isRevert($form_state) || $this->isModeration($form_state))) {
      $form[self::NAME] = SaveOver::checkbox(self::NAME, $this->account);
      $form['#validate'][] = [self::class, 'validate'];
    }
  }

  /**
   * Refuses the form where it would change a field that somebody has locked.
   */
  public static function validate(array &$form, FormStateInterface $form_state): void {
    \Drupal::service('quoin.unvalidated_forms')->refuseLocked($form_state);
  }

  /**
   * Says who is in the way.
   */
  public function refuseLocked(FormStateInterface $form_state): void {
    $this->check->setForm(FALSE, (bool) $form_state->getValue(self::NAME));
    foreach ($this->changes($form_state) as [$entity, $stored]) {
      $constraint = new FieldLocksConstraint();
      foreach ($this->check->holders($entity, $stored) as $field => $name) {
        // phpcs:ignore Drupal.Semantics.FunctionT.NotLiteralString
        $form_state->setErrorByName('', t($name === NULL ? $constraint->messageUnknown : $constraint->message, [
          '%name' => (string) $name,
          '%field' => (string) $entity->getFieldDefinition($field)?->getLabel(),
        ]));
      }
    }
  }

  /**
   * The translations that a form saves, each with what is stored.
   *
   * @return array<int, array{ContentEntityInterface, ContentEntityInterface|null}>
   *   The translations as they are to be saved.
   */
  private function changes(FormStateInterface $form_state): array {
    if ($this->isModeration($form_state)) {
      $entity = $form_state->get('entity');
      $changed = $entity instanceof ContentEntityInterface ? clone $entity : NULL;
      $changed?->set('moderation_state', $form_state->getValue('new_state'));
      return $changed ? [[$changed, NULL]] : [];
    }
    $attributes = $this->requests->getMainRequest()?->attributes->all() ?? [];
    $revisions = array_filter($attributes, static fn ($value): bool => $value instanceof ContentEntityInterface && !$value->isDefaultRevision());
    $changes = [];
    foreach (array_slice($revisions, 0, 1) as $revision) {
      $stored = $this->changedFields->stored($revision, NULL);
      foreach ((array) ($attributes['langcode'] ?? array_keys($revision->getTranslationLanguages())) as $langcode) {
        $changes[] = [$revision->getTranslation($langcode), $stored];
      }
    }
    return $changes;
  }

  /**
   * Whether a form reverts an entity to a revision.
   */
  private function isRevert(FormStateInterface $form_state): bool {
    $object = $form_state->getFormObject();
    return $object instanceof NodeRevisionRevertForm || $object instanceof RevisionRevertForm;
  }

  /**
   * Whether a form changes the state of a draft.
   */
  private function isModeration(FormStateInterface $form_state): bool {
    return $form_state->getFormObject() instanceof EntityModerationForm;
  }

}
