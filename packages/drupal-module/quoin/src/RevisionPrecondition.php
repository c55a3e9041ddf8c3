<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Entity\EntityTypeManagerInterface;
use Drupal\jsonapi\Routing\Routes;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;
use Symfony\Component\HttpKernel\Event\ControllerEvent;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;
use Symfony\Component\HttpKernel\Exception\PreconditionFailedHttpException;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * Saves an entity only over the revision that a request of JSON:API names.
 *
 * The header field Quoin-Revision has the id of the latest revision that the
 * sender knows. Another one, or one that was saved again without a revision of
 * its own, is answered with 412.
 */
final class RevisionPrecondition implements EventSubscriberInterface {

  /**
   * The name of the header field.
   */
  public const HEADER = 'Quoin-Revision';

  /**
   * The code of the error that says that the revision names no single state.
   */
  public const SAVED_IN_PLACE = 1;

  /**
   * The attribute of a request whose precondition is true of what was loaded.
   */
  private const LOADED = '_quoin_revision_loaded';

  /**
   * The attribute of a request whose precondition was compared in its save.
   */
  private const COMPARED = '_quoin_revision_compared';

  public function __construct(
    private readonly RequestStack $requests,
    private readonly EntityTypeManagerInterface $entityTypes,
    private readonly StoredRevisions $revisions,
    private readonly SavesInPlace $savesInPlace,
  ) {}

  /**
   * {@inheritdoc}
   */
  public static function getSubscribedEvents(): array {
    return [
      KernelEvents::CONTROLLER => 'onController',
      // After StorageExceptions, before what logs an exception or answers it.
      KernelEvents::EXCEPTION => ['onException', 900],
    ];
  }

  /**
   * Refuses a precondition that is malformed, or not true of what was loaded.
   *
   * After access is checked, and before validation: that of a stale request
   * would say what is wrong with a state that nobody has seen.
   */
  public function onController(ControllerEvent $event): void {
    $request = $event->getRequest();
    $revision_id = $this->revisionIn($request);
    if ($revision_id === NULL) {
      return;
    }
    $entity = $this->entityOf($request);
    if (!$entity || !$this->revisions->has($entity)) {
      throw new BadRequestHttpException(self::HEADER . ' is for entities with revisions in a database.');
    }
    if ((int) $entity->getLoadedRevisionId() !== $revision_id) {
      // The cache of entities may have kept an earlier state: the next request
      // is to see the present one.
      $this->entityTypes->getStorage($entity->getEntityTypeId())->resetCache([$entity->id()]);
      throw $this->failed($revision_id);
    }
    $request->attributes->set(self::LOADED, $revision_id);
  }

  /**
   * Says what is wrong first, where somebody saves while a request is refused.
   *
   * JSON:API takes an entity of which somebody has just saved another revision
   * for one with a working copy, and validates it as one that has changed.
   */
  public function onException(ExceptionEvent $event): void {
    $request = $event->getRequest();
    $revision_id = $request->attributes->get(self::LOADED);
    if ($revision_id === NULL || !$event->getThrowable() instanceof HttpExceptionInterface) {
      return;
    }
    $entity = $this->entityOf($request);
    if ($this->revisions->present($entity)[$entity->wasDefaultRevision() ? 'default' : 'latest'] !== $revision_id) {
      $event->setThrowable($this->failed($revision_id));
    }
  }

  /**
   * Compares the precondition with what is stored, within the save.
   *
   * Only for the entity that the request names, and only for its first save:
   * composite entities are saved along with it, and hooks may save it again.
   */
  public function compare(EntityInterface $entity): void {
    $request = $this->requests->getCurrentRequest();
    $revision_id = $request ? $this->revisionIn($request) : NULL;
    if ($revision_id === NULL || $request->attributes->has(self::COMPARED)) {
      return;
    }
    $named = $this->entityOf($request);
    if (!$named || !$entity instanceof ContentEntityInterface || $this->nameOf($named) !== $this->nameOf($entity)) {
      return;
    }
    $request->attributes->set(self::COMPARED, TRUE);
    if ($this->revisions->locked($entity)['latest'] !== $revision_id || (int) $entity->getLoadedRevisionId() !== $revision_id) {
      throw $this->failed($revision_id);
    }
    if ($this->savesInPlace->has($entity, $revision_id)) {
      throw new PreconditionFailedHttpException("Revision $revision_id was saved again since it was made.", NULL, self::SAVED_IN_PLACE);
    }
  }

  /**
   * The precondition of a request that changes a resource of JSON:API.
   */
  private function revisionIn(Request $request): ?int {
    $value = $request->headers->get(self::HEADER);
    if ($value === NULL || $request->isMethodCacheable() || !Routes::isJsonApiRequest($request->attributes->all())) {
      return NULL;
    }
    if (preg_match('/^[1-9]\d{0,17}$/D', $value) !== 1) {
      throw new BadRequestHttpException(self::HEADER . ' has to be the id of a revision.');
    }
    return (int) $value;
  }

  /**
   * The entity that the route of a request names.
   */
  private function entityOf(Request $request): ?ContentEntityInterface {
    $entity = $request->attributes->get('entity');
    return $entity instanceof ContentEntityInterface ? $entity : NULL;
  }

  /**
   * The type and the id of an entity.
   */
  private function nameOf(ContentEntityInterface $entity): array {
    return [$entity->getEntityTypeId(), (string) $entity->id()];
  }

  /**
   * The failure of a request that names another revision than the latest one.
   */
  private function failed(int $revision_id): PreconditionFailedHttpException {
    return new PreconditionFailedHttpException("Revision $revision_id is not the latest one.");
  }

}
