<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityFormInterface;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Form\ConfirmFormInterface;
use Drupal\Core\Form\FormStateInterface;
use Drupal\Core\Security\TrustedCallbackInterface;
use Drupal\Core\Session\AccountInterface;

/**
 * Lets users save over locks in edit forms, where they may and say so.
 */
final class SaveOver implements TrustedCallbackInterface {

  /**
   * The name of the checkbox.
   */
  private const NAME = 'quoin_save_over';

  /**
   * The name of the hidden field with the revision that a form shows.
   */
  private const REVISION = 'quoin_revision';

  public function __construct(
    private readonly Connection $connection,
    private readonly SaveCheck $check,
    private readonly AccountInterface $account,
  ) {}

  /**
   * {@inheritdoc}
   */
  public static function trustedCallbacks(): array {
    return ['hideUnlessRefused'];
  }

  /**
   * Adds the checkbox to the edit form of an entity.
   *
   * It is always there, since a form is not built again when it is refused, and
   * is shown when a save was refused.
   */
  public function alter(array &$form, FormStateInterface $form_state): void {
    $object = $form_state->getFormObject();
    $is_edit_form = $object instanceof ContentEntityFormInterface && !$object instanceof ConfirmFormInterface;
    if (!$is_edit_form || $object->getEntity()->isNew() || !$this->connection->isConfigured()) {
      return;
    }
    $form[self::NAME] = self::checkbox(self::NAME, $this->account);
    if ($object->getEntity()->getEntityType()->isRevisionable()) {
      $form[self::REVISION] = ['#type' => 'hidden', '#default_value' => $object->getEntity()->getLoadedRevisionId()];
    }
    $form['#entity_builders'][] = [self::class, 'noteChoice'];
    $form['#validate'][] = [self::class, 'requireVisibleRefusal'];
  }

  /**
   * The checkbox, which is shown when a save was refused.
   */
  public static function checkbox(string $name, AccountInterface $account): array {
    return [
      '#weight' => 99,
      '#access' => $account->hasPermission(SaveCheck::PERMISSION),
      '#pre_render' => [[self::class, 'hideUnlessRefused']],
      'choice' => [
        '#type' => 'checkbox',
        '#parents' => [$name],
        '#title' => t('Save over it'),
        '#description' => t('Saves these fields although somebody else is editing them.'),
      ],
    ];
  }

  /**
   * Tells the check, before the entity is validated, how the form saves.
   *
   * Buttons of widgets validate as well, and save nothing; so does a preview.
   */
  public static function noteChoice(string $entity_type_id, ContentEntityInterface $entity, array &$form, FormStateInterface $form_state): void {
    $button = $form_state->getTriggeringElement() ?? [];
    $is_partial = is_array($button['#limit_validation_errors'] ?? FALSE);
    $is_preview = in_array('::preview', $button['#submit'] ?? [], TRUE);
    \Drupal::service('quoin.save_check')->setForm($is_partial || $is_preview, (bool) $form_state->getValue(self::NAME));
    if ($form_state->getValue(self::REVISION) !== NULL) {
      \Drupal::service('quoin.overlapping_saves')->setForm($entity, (int) $form_state->getValue(self::REVISION));
    }
  }

  /**
   * Refuses the form where the field that was refused is not in it.
   *
   * The form drops violations of fields that it does not show.
   */
  public static function requireVisibleRefusal(array &$form, FormStateInterface $form_state): void {
    $refused = \Drupal::service('quoin.save_check')->refused();
    if ($refused !== [] && $form_state->getErrors() === []) {
      $form_state->setErrorByName('', t('Somebody else is editing @fields. Nothing was saved.', ['@fields' => implode(', ', $refused)]));
    }
  }

  /**
   * Shows the checkbox where a save was refused, or where it was used.
   */
  public static function hideUnlessRefused(array $element): array {
    $is_used = !empty($element['choice']['#value']);
    $element['#printed'] = !$is_used && \Drupal::service('quoin.save_check')->refused() === [];
    return $element;
  }

}
