<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\EntityStorageException;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpKernel\Event\ExceptionEvent;
use Symfony\Component\HttpKernel\Exception\HttpExceptionInterface;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * Answers an HTTP exception that was thrown within a save with its own status.
 *
 * The storage wraps whatever a hook throws in an EntityStorageException, which
 * would be answered with 500. Core REST wraps that in an exception with 500.
 *
 * @see \Drupal\Core\Entity\Sql\SqlContentEntityStorage::save()
 * @see \Drupal\rest\Plugin\rest\resource\EntityResource::patch()
 */
final class StorageExceptions implements EventSubscriberInterface {

  /**
   * {@inheritdoc}
   */
  public static function getSubscribedEvents(): array {
    // Before all that logs an exception, or makes an answer of it.
    return [KernelEvents::EXCEPTION => ['onException', 1000]];
  }

  /**
   * Puts the HTTP exception in the place of its wrappers.
   */
  public function onException(ExceptionEvent $event): void {
    $exception = $event->getThrowable();
    if ($exception instanceof HttpExceptionInterface && $exception->getPrevious() instanceof EntityStorageException) {
      $exception = $exception->getPrevious();
    }
    $previous = $exception->getPrevious();
    if ($exception instanceof EntityStorageException && $previous instanceof HttpExceptionInterface) {
      $event->setThrowable($previous);
    }
  }

}
