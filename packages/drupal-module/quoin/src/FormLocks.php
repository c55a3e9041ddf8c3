<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Config\ConfigFactoryInterface;
use Drupal\Core\Entity\ContentEntityFormInterface;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityChangedInterface;
use Drupal\Core\Extension\ModuleExtensionList;
use Drupal\Core\Field\FieldDefinitionInterface;
use Drupal\Core\Form\ConfirmFormInterface;
use Drupal\Core\Form\FormStateInterface;
use Drupal\Core\Routing\RouteProviderInterface;
use Drupal\Core\Session\AccountInterface;
use Drupal\Core\Site\Settings;
use Drupal\Core\StringTranslation\StringTranslationTrait;
use Drupal\Core\StringTranslation\TranslatableMarkup;
use Drupal\Core\Url;
use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\Routing\Exception\RouteNotFoundException;

/**
 * Gives the edit form of a saved entity the script that locks its fields.
 */
final class FormLocks {

  use StringTranslationTrait;

  /**
   * The script, from the module's folder. A build makes it.
   */
  public const SCRIPT = 'js/dist/form.js';

  public function __construct(
    private readonly string $root,
    private readonly Settings $settings,
    private readonly AccountInterface $account,
    private readonly RouteProviderInterface $routes,
    private readonly ModuleExtensionList $modules,
    private readonly RequestStack $requests,
    private readonly ConfigFactoryInterface $configs,
  ) {}

  /**
   * What the status report says of the edit form.
   */
  public function requirements(): array {
    $missing = $this->missing();
    return [
      'quoin_form' => [
        'title' => $this->t('Quoin: locks in edit forms'),
        'value' => $missing === NULL ? $this->t('On, by @url', ['@url' => $this->setting('public_url')]) : $this->t('Off'),
        'description' => $missing ?? '',
      ],
    ];
  }

  /**
   * Why the form has no locks; NULL where it has.
   */
  private function missing(): ?TranslatableMarkup {
    if ($this->setting('public_url') === '') {
      return $this->t("\$settings['quoin']['public_url'] in settings.php says where browsers reach Quoin.");
    }
    $script = $this->modules->getPath('quoin') . '/' . self::SCRIPT;
    return is_file("$this->root/$script") ? NULL : $this->t('@script is missing: copy the module as <em>npm run build:drupal-module</em> makes it.', ['@script' => $script]);
  }

  /**
   * Marks the fields of an edit form, and attaches the script.
   *
   * An entity that is new has no name by which a lock could go. An anonymous
   * user shares the id with all others.
   */
  public function alter(array &$form, FormStateInterface $form_state): void {
    $form_object = $form_state->getFormObject();
    if (!$form_object instanceof ContentEntityFormInterface || $form_object instanceof ConfirmFormInterface) {
      return;
    }
    $entity = $form_object->getEntity();
    if (!$entity instanceof ContentEntityInterface || $entity->isNew() || $this->account->isAnonymous() || $this->missing() !== NULL) {
      return;
    }
    $fields = $this->markFields($form, $entity, array_keys($form_object->getFormDisplay($form_state)->getComponents()));
    if ($fields === []) {
      return;
    }
    $key = $entity->getEntityTypeId() . ':' . $entity->id();
    $form['#attributes']['data-quoin-form'] = $key;
    $form['#attached']['library'][] = 'quoin/form';
    $form['#attached']['drupalSettings']['quoin'] = [
      'url' => rtrim($this->setting('public_url'), '/'),
      'token' => $this->tokenUrl(),
      'user' => ['uid' => (string) $this->account->id(), 'name' => $this->account->getDisplayName()],
      'forms' => [
        $key => [
          'type' => $entity->getEntityTypeId(),
          'fields' => $fields,
          'savedAs' => $this->stateOf($entity),
          // Then it may have what is typed and not saved.
          'isReturned' => $this->requests->getCurrentRequest()?->isMethod('POST') || $form_state->get('has_been_previewed'),
        ],
      ],
    ];
    $form['#cache']['contexts'][] = 'user';
  }

  /**
   * Names the saved state of an entity, so that a script can tell another one.
   */
  private function stateOf(ContentEntityInterface $entity): string {
    $changed = $entity instanceof EntityChangedInterface ? $entity->getChangedTimeAcrossTranslations() : '';
    return $entity->getRevisionId() . ' ' . $changed;
  }

  /**
   * Marks the containers of the widgets.
   *
   * @return array<string, array{label: string, kind: ?string, id: string}>
   *   The fields that have one, by name, each with the id that its lock is on.
   */
  private function markFields(array &$form, ContentEntityInterface $entity, array $names): array {
    $is_integer = preg_match('/^\d{1,18}$/D', (string) $entity->id()) === 1;
    $id = (string) ($is_integer && $this->setting('lock_ids') !== 'uuid' ? $entity->id() : $entity->uuid());
    $langcode = $entity->language()->getId();
    $is_apart = in_array($langcode, $this->settings->get('quoin', [])['lock_languages'] ?? [], TRUE);
    // Each save has its own log message.
    $own = array_values($entity->getEntityType()->getRevisionMetadataKeys());
    $fields = [];
    foreach ($names as $name) {
      if (!isset($form[$name]) || !$entity->hasField($name) || in_array($name, $own, TRUE)) {
        continue;
      }
      $definition = $entity->getFieldDefinition($name);
      $form[$name]['#attributes']['data-quoin-field'] = $name;
      $fields[$name] = ['label' => (string) $definition->getLabel(), 'kind' => $this->kindOf($definition), 'id' => $is_apart && $definition->isTranslatable() ? "$id:$langcode" : $id];
    }
    return $fields;
  }

  /**
   * How a lock holds the text of a field, as the desk writes it.
   *
   * @return string|null
   *   NULL for what is not one text: such a field is locked without its text.
   *
   * @see packages/desk/page/fields.ts
   */
  private function kindOf(FieldDefinitionInterface $definition): ?string {
    $is_multiple = $definition->getFieldStorageDefinition()->isMultiple();
    switch ($definition->getType()) {
      case 'string':
      case 'email':
      case 'telephone':
      case 'integer':
      case 'decimal':
      case 'float':
      case 'list_string':
      case 'list_integer':
      case 'list_float':
        return $is_multiple ? 'lines' : 'value';

      case 'string_long':
        return $is_multiple ? NULL : 'value';

      case 'text':
      case 'text_long':
      case 'text_with_summary':
        return $is_multiple ? NULL : 'text';

      case 'boolean':
        return $is_multiple ? NULL : 'flag';

      case 'datetime':
        if ($is_multiple) {
          return NULL;
        }
        $kind = $definition->getSetting('datetime_type');
        return $kind === 'date' || $this->isSiteTime() ? $kind : NULL;

      case 'link':
        return $is_multiple ? NULL : 'link';

      case 'entity_reference':
        return 'references';

      default:
        return NULL;
    }
  }

  /**
   * Whether this account sees times as the site has them, and so the desk.
   */
  private function isSiteTime(): bool {
    return date_default_timezone_get() === $this->configs->get('system.date')->get('timezone.default');
  }

  /**
   * Where a browser gets a token for Quoin; NULL where this site gives none.
   */
  private function tokenUrl(): ?string {
    try {
      $this->routes->getRouteByName('quoin.token');
    }
    catch (RouteNotFoundException) {
      return NULL;
    }
    return Url::fromRoute('quoin.token')->toString();
  }

  /**
   * A setting of settings.php.
   */
  private function setting(string $name): string {
    return (string) ($this->settings->get('quoin', [])[$name] ?? '');
  }

}
