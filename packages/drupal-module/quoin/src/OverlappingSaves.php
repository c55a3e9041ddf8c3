<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityChangedInterface;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Entity\EntityTypeManagerInterface;
use Drupal\Core\Entity\Plugin\Validation\Constraint\EntityChangedConstraint;
use Drupal\Core\Entity\RevisionableStorageInterface;
use Drupal\Core\Messenger\MessengerInterface;
use Drupal\Core\Routing\EnhancerInterface;
use Drupal\Core\StringTranslation\StringTranslationTrait;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * Refuses a save of an entity that somebody else saves at the same moment.
 *
 * A save writes all fields, those that its request does not name as they were
 * when it began. So it would put back what somebody has saved since, in a
 * locked field too. Core compares the times of change: they count seconds, and
 * they may come from its cache, which keeps an earlier state where an entity
 * was saved while another request loaded it.
 */
final class OverlappingSaves implements EnhancerInterface, EventSubscriberInterface {

  use StringTranslationTrait;

  /**
   * The attribute of a request with the revisions that its entities had first.
   */
  private const BASES = '_quoin_bases';

  /**
   * The names of entities whose form shows another revision.
   *
   * @var array<string, true>
   */
  private array $outdated = [];

  public function __construct(
    private readonly Connection $connection,
    private readonly EntityTypeManagerInterface $entityTypes,
    private readonly StoredRevisions $revisions,
    private readonly RequestStack $requests,
    private readonly MessengerInterface $messenger,
  ) {}

  /**
   * {@inheritdoc}
   */
  public static function getSubscribedEvents(): array {
    // After StorageExceptions, before what logs an exception or answers it.
    return [KernelEvents::EXCEPTION => ['onException', 800]];
  }

  /**
   * Notes the revisions of the entities that a request may save.
   *
   * An entity that came from the cache in an earlier state is loaded again. An
   * edit form shows the present state, too.
   */
  public function enhance(array $defaults, Request $request): array {
    $is_form = isset($defaults['_entity_form']);
    $is_present = $request === $this->requests->getCurrentRequest() && $this->connection->isConfigured();
    if (!$is_present || ($request->isMethodCacheable() && !$is_form)) {
      return $defaults;
    }
    foreach ($defaults as $name => $entity) {
      if ($entity instanceof ContentEntityInterface && !$entity->isNew() && $this->revisions->has($entity)) {
        $present = $this->revisions->present($entity);
        $defaults[$name] = $entity = $this->fresh($entity, $present['default']);
        $bases = $request->attributes->get(self::BASES, []);
        $bases[$this->nameOf($entity)] ??= $present + ['loaded' => (int) $entity->getLoadedRevisionId()];
        $request->attributes->set(self::BASES, $bases);
      }
    }
    return $defaults;
  }

  /**
   * Says which revision the form of an entity shows.
   */
  public function setForm(ContentEntityInterface $entity, int $revision_id): void {
    $base = $this->baseOf($entity);
    if ($base !== NULL && $base['loaded'] !== $revision_id) {
      $this->outdated[$this->nameOf($entity)] = TRUE;
    }
  }

  /**
   * Whether an entity that is validated has been saved since.
   *
   * Where core's constraint says so, it is enough.
   */
  public function isOverlapped(ContentEntityInterface $entity): bool {
    $base = $entity->isNew() ? NULL : $this->baseOf($entity);
    if ($base === NULL || $this->isRefusedByCore($entity)) {
      return FALSE;
    }
    return isset($this->outdated[$this->nameOf($entity)]) || $this->revisions->present($entity) !== $this->revisionsIn($base);
  }

  /**
   * Refuses the first save of an entity where somebody has saved since.
   */
  public function compare(EntityInterface $entity): void {
    $base = $entity instanceof ContentEntityInterface && !$entity->isNew() ? $this->baseOf($entity) : NULL;
    if ($base === NULL) {
      return;
    }
    $request = $this->requests->getCurrentRequest();
    $bases = $request->attributes->get(self::BASES);
    $request->attributes->set(self::BASES, array_diff_key($bases, [$this->nameOf($entity) => TRUE]));
    if ($this->revisions->locked($entity) !== $this->revisionsIn($base)) {
      throw new OverlappingSaveException($this->message());
    }
  }

  /**
   * Sends a browser back to its form: a page of an error says nothing else.
   */
  public function onException(ExceptionEvent $event): void {
    $request = $event->getRequest();
    if ($event->getThrowable() instanceof OverlappingSaveException && $request->getRequestFormat() === 'html' && !$request->isXmlHttpRequest()) {
      $this->messenger->addError($this->t('@message', ['@message' => $this->message()]));
      $event->setResponse(new RedirectResponse($request->getRequestUri(), 303));
    }
  }

  /**
   * What is said: the words of core, which clients know.
   */
  public function message(): string {
    return (new EntityChangedConstraint())->message;
  }

  /**
   * An entity as it is stored, where it is another default revision.
   *
   * It is loaded by its revision, past the cache: another request may put the
   * earlier state there once more.
   */
  private function fresh(ContentEntityInterface $entity, int $default): ContentEntityInterface {
    $storage = $this->entityTypes->getStorage($entity->getEntityTypeId());
    $is_present = !$entity->isDefaultRevision() || (int) $entity->getLoadedRevisionId() === $default;
    if ($is_present || !$storage instanceof RevisionableStorageInterface) {
      return $entity;
    }
    $storage->resetCache([$entity->id()]);
    $stored = $storage->loadRevision($default);
    $langcode = $entity->language()->getId();
    if (!$stored instanceof ContentEntityInterface) {
      return $entity;
    }
    return $stored->hasTranslation($langcode) ? $stored->getTranslation($langcode) : $stored;
  }

  /**
   * The revisions that an entity had when the request began, if it names it.
   */
  private function baseOf(ContentEntityInterface $entity): ?array {
    return $this->requests->getCurrentRequest()?->attributes->get(self::BASES)[$this->nameOf($entity)] ?? NULL;
  }

  /**
   * The default and the latest revision of a base.
   */
  private function revisionsIn(array $base): array {
    return ['default' => $base['default'], 'latest' => $base['latest']];
  }

  /**
   * Whether core's constraint refuses an entity as one that has changed.
   *
   * @see \Drupal\Core\Entity\Plugin\Validation\Constraint\EntityChangedConstraintValidator
   */
  private function isRefusedByCore(ContentEntityInterface $entity): bool {
    $stored = $entity instanceof EntityChangedInterface ? $this->entityTypes->getStorage($entity->getEntityTypeId())->loadUnchanged($entity->id()) : NULL;
    if (!$stored instanceof ContentEntityInterface) {
      return FALSE;
    }
    foreach (array_keys(array_intersect_key($entity->getTranslationLanguages(), $stored->getTranslationLanguages())) as $langcode) {
      if ($stored->getTranslation($langcode)->getChangedTime() > $entity->getTranslation($langcode)->getChangedTime()) {
        return TRUE;
      }
    }
    return FALSE;
  }

  /**
   * The type and the id of an entity.
   */
  private function nameOf(ContentEntityInterface $entity): string {
    return $entity->getEntityTypeId() . ':' . $entity->id();
  }

}
