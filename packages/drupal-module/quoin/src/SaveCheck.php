<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Session\AccountInterface;
use Psr\Log\LoggerInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;

/**
 * Asks Quoin whose locks are in the way of a save that does not come by Quoin.
 *
 * Where Quoin is away there is no answer, and so nothing in the way.
 */
final class SaveCheck {

  /**
   * The permission to save over the locks of others.
   */
  public const PERMISSION = 'save over locks by quoin';

  /**
   * The name of the header field by which a request says that it does so.
   */
  public const HEADER = 'Quoin-Save-Over';

  /**
   * How long Quoin may take, in seconds.
   */
  private const SECONDS = 1.0;

  /**
   * How many fields Quoin takes in one question, and how long a name may be.
   */
  private const FIELDS = 500;

  /**
   * Whether the form of this request is not going to save.
   */
  private bool $isSkipped = FALSE;

  /**
   * Whether the user of the form has chosen to save over locks.
   */
  private bool $isOver = FALSE;

  /**
   * Whether Quoin has failed to answer in this request.
   */
  private bool $isAway = FALSE;

  /**
   * The answers of this request, by their questions.
   *
   * @var array<string, array<string, string|null>>
   */
  private array $answers = [];

  /**
   * The names of the fields that were refused in this request.
   *
   * @var string[]
   */
  private array $refused = [];

  public function __construct(
    private readonly Connection $connection,
    private readonly OwnSaves $ownSaves,
    private readonly ChangedFields $changedFields,
    private readonly RequestStack $requests,
    private readonly AccountInterface $account,
    private readonly LoggerInterface $logger,
  ) {}

  /**
   * Says how the form of this request saves.
   *
   * @param bool $is_skipped
   *   Whether it does not save now, as at the button of a widget.
   * @param bool $is_over
   *   Whether its user wants to save over locks.
   */
  public function setForm(bool $is_skipped, bool $is_over): void {
    $this->isSkipped = $is_skipped;
    $this->isOver = $is_over && $this->account->hasPermission(self::PERMISSION);
  }

  /**
   * Whether the form of this request is not going to save.
   */
  public function isSkipped(): bool {
    return $this->isSkipped;
  }

  /**
   * The fields of others that a save would change.
   *
   * @param \Drupal\Core\Entity\ContentEntityInterface $entity
   *   The entity as it is to be saved.
   * @param \Drupal\Core\Entity\ContentEntityInterface|null $stored
   *   What it is compared with; by default the revision that it was loaded in.
   *
   * @return array<string, string|null>
   *   Who has locked each of them, by the name of the field: what users call
   *   them, NULL where that is not known.
   */
  public function holders(ContentEntityInterface $entity, ?ContentEntityInterface $stored = NULL): array {
    $request = $this->requests->getMainRequest();
    if ($request === NULL || $entity->isNew() || !$this->isChecked($request, $entity)) {
      return [];
    }
    $stored ??= $this->changedFields->stored($entity, $entity->getLoadedRevisionId());
    $fields = array_slice($this->changedFields->inTranslation($entity, $stored), 0, self::FIELDS);
    $holders = $fields === [] ? [] : $this->ask($entity, $fields);
    $this->refused = array_merge($this->refused, array_keys($holders));
    return $holders;
  }

  /**
   * The names of the fields that were refused in this request.
   *
   * @return string[]
   *   The names.
   */
  public function refused(): array {
    return array_values(array_unique($this->refused));
  }

  /**
   * Whether locks count for the save of an entity by a request.
   */
  private function isChecked(Request $request, ContentEntityInterface $entity): bool {
    return !$request->isMethodCacheable()
      && !$this->isSkipped
      && !$this->isOver
      && !$this->isAway
      && $this->connection->isConfigured()
      && !$this->ownSaves->cover($entity)
      && !($request->headers->get(self::HEADER) === '1' && $this->account->hasPermission(self::PERMISSION));
  }

  /**
   * Asks Quoin, once for each question of a request.
   */
  private function ask(ContentEntityInterface $entity, array $fields): array {
    $question = Subject::of($entity) + ['fields' => $fields, 'uid' => (string) $this->account->id()];
    $key = serialize($question);
    return $this->answers[$key] ??= $this->answerTo($question);
  }

  /**
   * The holders in Quoin's answer to a question.
   */
  private function answerTo(array $question): array {
    try {
      $answer = $this->connection->post('/drupal/checks', $question, self::SECONDS);
      $locks = $answer['locks'] ?? NULL;
      if (!is_array($locks)) {
        throw new QuoinException('its answer names no locks');
      }
      return $this->holdersIn($locks, $question['fields']);
    }
    catch (QuoinException $exception) {
      $this->isAway = TRUE;
      $this->logger->warning('@type @id is saved without a check of its locks, since Quoin does not say whose they are: @reason', [
        '@type' => $question['type'],
        '@id' => $question['id'],
        '@reason' => $exception->getMessage(),
      ]);
      return [];
    }
  }

  /**
   * Who holds which of the fields that were asked about.
   */
  private function holdersIn(array $locks, array $fields): array {
    $holders = [];
    foreach ($locks as $lock) {
      $field = is_array($lock) ? ($lock['fieldName'] ?? NULL) : NULL;
      if (!in_array($field, $fields, TRUE)) {
        throw new QuoinException('its answer names other fields');
      }
      $name = $lock['name'] ?? $lock['uid'] ?? NULL;
      $holders[$field] = is_string($name) ? $name : NULL;
    }
    return $holders;
  }

}
