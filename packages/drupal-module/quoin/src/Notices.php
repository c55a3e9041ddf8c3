<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Datetime\TimeInterface;
use Drupal\Component\Uuid\UuidInterface;
use Drupal\Core\DestructableInterface;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityChangedInterface;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Queue\QueueFactory;
use Drupal\Core\Queue\QueueInterface;
use Drupal\Core\Session\AccountInterface;
use Drupal\Core\StringTranslation\StringTranslationTrait;
use Psr\Log\LoggerInterface;

/**
 * Tells Quoin each save that did not come through it.
 *
 * What is to be told is put into Drupal's queue within the save, so it is there
 * if and only if the save is. It is sent after the answer. What could not be
 * sent is left for the next save, and for cron.
 */
final class Notices implements DestructableInterface {

  use StringTranslationTrait;

  /**
   * The name of the queue.
   */
  public const QUEUE = 'quoin_saves';

  /**
   * How many saves wait at most.
   */
  private const WAITING = 1000;

  /**
   * How long a save is kept that cannot be told, in milliseconds.
   */
  private const KEPT = 604800000;

  /**
   * How many saves are told in one request.
   */
  private const BATCH = 20;

  /**
   * How long the sending may take after an answer, in seconds.
   *
   * PHP-FPM has closed the connection by then. Elsewhere the browser may wait
   * for the end of the script.
   */
  private const SECONDS_ANSWERED = 1.0;
  private const SECONDS_ANSWERING = 0.05;

  /**
   * How long it may take in cron, for each request and in all, in seconds.
   */
  private const SECONDS_OF_REQUEST = 5.0;
  private const SECONDS_OF_CRON = 15.0;

  /**
   * How long a save is this process's to tell, in seconds.
   */
  private const LEASE = 60;

  /**
   * How many fields Quoin takes of one save, and characters of a name.
   */
  private const FIELDS = 500;
  private const NAME = 255;

  /**
   * Whether there is something to tell since the last sending.
   */
  private bool $isPending = FALSE;

  /**
   * Whether a save of this request found the queue full.
   */
  private bool $isFull = FALSE;

  /**
   * What entities were before they are saved.
   *
   * @var \WeakMap<\Drupal\Core\Entity\ContentEntityInterface, array>
   */
  private \WeakMap $before;

  public function __construct(
    private readonly Connection $connection,
    private readonly OwnSaves $ownSaves,
    private readonly ChangedFields $changedFields,
    private readonly QueueFactory $queues,
    private readonly AccountInterface $account,
    private readonly TimeInterface $time,
    private readonly UuidInterface $uuids,
    private readonly LoggerInterface $logger,
  ) {
    $this->before = new \WeakMap();
  }

  /**
   * Takes in what an entity is before it is saved.
   *
   * After the save it no longer says which revision it was loaded in, and
   * computed fields have the new values in the stored entity too.
   */
  public function expect(EntityInterface $entity): void {
    if (!$this->concerns($entity) || $entity->isNew()) {
      return;
    }
    $original = $this->originalOf($entity);
    $revision_id = $entity->getLoadedRevisionId();
    $is_same = $original !== NULL && ($revision_id === NULL || $original->getRevisionId() == $revision_id);
    $stored = $is_same ? $original : $this->changedFields->stored($entity, $revision_id);
    $this->before[$entity] = ['stored' => $stored, 'fields' => $this->changed($entity, $stored)];
  }

  /**
   * Queues what was saved.
   *
   * @param \Drupal\Core\Entity\EntityInterface $entity
   *   The entity as it is now.
   * @param string $kind
   *   One of insert, update, delete.
   */
  public function note(EntityInterface $entity, string $kind): void {
    if (!$this->concerns($entity)) {
      return;
    }
    $before = $this->before[$entity] ?? ['stored' => NULL, 'fields' => []];
    unset($this->before[$entity]);
    $changed = match ($kind) {
      'insert' => $this->changed($entity, NULL),
      'update' => array_merge_recursive($before['fields'], $this->changed($entity, $before['stored'])),
      default => [],
    };
    $this->queue($this->noticeOf($entity, $kind, $changed, $before['stored']));
  }

  /**
   * Tells what waits in the queue, within the time that there is after a save.
   */
  public function destruct(): void {
    if ($this->isPending) {
      $this->isPending = FALSE;
      $is_answered = function_exists('fastcgi_finish_request') || function_exists('litespeed_finish_request');
      $this->tellOnce($is_answered ? self::SECONDS_ANSWERED : self::SECONDS_ANSWERING);
    }
  }

  /**
   * Tells all that waits in the queue, or as much as there is time for.
   */
  public function tellAll(): void {
    $until = microtime(TRUE) + self::SECONDS_OF_CRON;
    while ($this->connection->isConfigured() && microtime(TRUE) < $until && $this->tellOnce(self::SECONDS_OF_REQUEST)) {
      // The next batch.
    }
  }

  /**
   * What the status report says of saves.
   */
  public function requirements(): array {
    $is_configured = $this->connection->isConfigured();
    $count = $is_configured ? $this->queues->get(self::QUEUE)->numberOfItems() : 0;
    return [
      'quoin_saves' => [
        'title' => $this->t('Quoin: saves'),
        'value' => $is_configured
          ? $this->t('Locks are checked, and @count saves wait to be told', ['@count' => $count])
          : $this->t('Locks are not checked, and Quoin is told of no save'),
        'description' => $is_configured ? '' : $this->t("<code>\$settings['quoin']</code> in settings.php needs <code>url</code>, and a <code>secret</code> of @count characters or more.", [
          '@count' => SignedTokens::LEAST_CHARACTERS,
        ]),
      ],
    ];
  }

  /**
   * Whether saves of an entity are told.
   */
  private function concerns(EntityInterface $entity): bool {
    return $entity instanceof ContentEntityInterface
      && !$entity->getEntityType()->isInternal()
      && $entity->uuid() !== NULL
      && $this->connection->isConfigured()
      && !$this->ownSaves->cover($entity);
  }

  /**
   * The names of the fields that have changed, by language.
   *
   * @return array<string, string[]>
   *   Only of translations that have changed.
   */
  private function changed(ContentEntityInterface $entity, ?ContentEntityInterface $stored): array {
    $changed = [];
    foreach (array_keys($entity->getTranslationLanguages()) as $langcode) {
      $changed[$langcode] = $this->changedFields->inTranslation($entity->getTranslation($langcode), $stored);
    }
    foreach (array_keys($stored?->getTranslationLanguages() ?? []) as $langcode) {
      if (!$entity->hasTranslation($langcode)) {
        $changed[$langcode] = $this->changedFields->inTranslation($stored->getTranslation($langcode), NULL);
      }
    }
    return array_filter($changed);
  }

  /**
   * The notice of a save.
   */
  private function noticeOf(ContentEntityInterface $entity, string $kind, array $changed, ?ContentEntityInterface $stored): array {
    $own = $entity->language()->getId();
    $langcode = isset($changed[$own]) || $changed === [] ? $own : (string) array_key_first($changed);
    $fields = array_values(array_unique(array_merge(...array_values($changed))));
    $is_shown = $kind !== 'delete' && $entity->getEntityType()->isRevisionable() && $entity->isDefaultRevision();
    $times = $this->timesOf($entity, $stored, $langcode);
    return ['language' => $langcode] + Subject::of($entity) + [
      'notice' => $this->uuids->generate(),
      'kind' => $kind,
      'bundle' => $entity->bundle(),
      'fields' => array_slice($fields, 0, self::FIELDS),
      'uid' => (string) $this->account->id(),
      'name' => mb_substr((string) $this->account->getDisplayName(), 0, self::NAME),
      'at' => $this->now(),
    ] + ($is_shown ? ['revision' => (int) $entity->getRevisionId()] : [])
      + ($times === [] ? [] : ['changed' => $times]);
  }

  /**
   * The times of change of a translation, before and after.
   */
  private function timesOf(ContentEntityInterface $entity, ?ContentEntityInterface $stored, string $langcode): array {
    $translation = $entity->hasTranslation($langcode) ? $entity->getTranslation($langcode) : NULL;
    if (!$translation instanceof EntityChangedInterface) {
      return [];
    }
    $earlier = $stored?->hasTranslation($langcode) ? $stored->getTranslation($langcode) : NULL;
    $before = $earlier instanceof EntityChangedInterface ? ['before' => (int) $earlier->getChangedTime()] : [];
    return $before + ['after' => (int) $translation->getChangedTime()];
  }

  /**
   * The entity as it was before the save.
   */
  private function originalOf(ContentEntityInterface $entity): ?ContentEntityInterface {
    // Drupal 11.2 has the method; before it was a property.
    $original = method_exists($entity, 'getOriginal') ? $entity->getOriginal() : ($entity->original ?? NULL);
    return $original instanceof ContentEntityInterface ? $original : NULL;
  }

  /**
   * Puts a notice into the queue. A save does not fail for it.
   */
  private function queue(array $notice): void {
    try {
      $queue = $this->queues->get(self::QUEUE);
      $this->isPending = TRUE;
      if ($queue->numberOfItems() < self::WAITING) {
        $queue->createItem($notice);
      }
      elseif (!$this->isFull) {
        // Once, since whatever saves so many goes on doing so.
        $this->isFull = TRUE;
        $this->logger->error('Quoin is not told of a save of @type @id, and of what is saved after it: @count saves wait to be told already.', [
          '@type' => $notice['type'],
          '@id' => $notice['id'],
          '@count' => self::WAITING,
        ]);
      }
    }
    catch (\Exception $exception) {
      $this->logger->error('Quoin is not told of a save, since the queue fails: @reason', ['@reason' => $exception->getMessage()]);
    }
  }

  /**
   * Tells one batch of what waits.
   *
   * @return bool
   *   Whether all of it was told, and there may be more.
   */
  private function tellOnce(float $seconds): bool {
    $until = microtime(TRUE) + $seconds;
    $queue = $this->queues->get(self::QUEUE);
    $items = [];
    while (count($items) < self::BATCH && microtime(TRUE) < $until && ($item = $queue->claimItem(self::LEASE))) {
      $items[] = $item;
    }
    $saves = $this->savesIn($items);
    try {
      if ($saves !== []) {
        $answer = $this->connection->post('/drupal/saves', ['saves' => $saves], max($until - microtime(TRUE), 0.001));
        if (($answer['heard'] ?? NULL) !== count($saves)) {
          throw new QuoinException('its answer does not say that it has heard');
        }
      }
      $this->drop($queue, $items);
      return count($items) === self::BATCH;
    }
    catch (QuoinException $exception) {
      $this->keep($queue, $items, $exception);
      return FALSE;
    }
  }

  /**
   * The notices of queue items as they are sent, without those too old.
   */
  private function savesIn(array $items): array {
    $saves = [];
    foreach ($items as $item) {
      $age = is_array($item->data) ? max($this->now() - (int) ($item->data['at'] ?? 0), 0) : self::KEPT;
      if ($age < self::KEPT) {
        $saves[] = ['age' => $age] + array_diff_key($item->data, ['at' => TRUE]);
      }
    }
    return $saves;
  }

  /**
   * Drops what was told.
   */
  private function drop(QueueInterface $queue, array $items): void {
    foreach ($items as $item) {
      $queue->deleteItem($item);
    }
  }

  /**
   * Keeps what could not be told for later, unless Quoin never takes it.
   */
  private function keep(QueueInterface $queue, array $items, QuoinException $exception): void {
    $is_refused = in_array($exception->getCode(), [400, 413], TRUE);
    foreach ($items as $item) {
      $is_refused ? $queue->deleteItem($item) : $queue->releaseItem($item);
    }
    $this->logger->log($is_refused ? 'error' : 'notice', $is_refused
      ? 'Quoin takes no notice of @count saves: @reason'
      : 'Quoin is told of @count saves later: @reason', ['@count' => count($items), '@reason' => $exception->getMessage()]);
  }

  /**
   * The time, in milliseconds.
   */
  private function now(): int {
    return (int) round($this->time->getCurrentMicroTime() * 1000);
  }

}
