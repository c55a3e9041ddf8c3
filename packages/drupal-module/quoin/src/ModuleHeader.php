<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\jsonapi\Routing\Routes;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\KernelEvents;

/**
 * Names the version of the module in each answer of JSON:API.
 */
final class ModuleHeader implements EventSubscriberInterface {

  /**
   * The version of the module, which is that of Quoin.
   */
  public const VERSION = '0.1.0';

  /**
   * The name of the header field.
   */
  public const NAME = 'Quoin-Module';

  /**
   * {@inheritdoc}
   */
  public static function getSubscribedEvents(): array {
    return [KernelEvents::RESPONSE => 'onResponse'];
  }

  /**
   * Sets the header field, on refusals too.
   */
  public function onResponse(ResponseEvent $event): void {
    $headers = $event->getResponse()->headers;
    // An entity that is not there is refused before the request has its route.
    $is_refusal = str_starts_with((string) $headers->get('Content-Type'), 'application/vnd.api+json');
    if ($is_refusal || $event->getRequest()->attributes->get(Routes::JSON_API_ROUTE_FLAG_KEY)) {
      $headers->set(self::NAME, self::VERSION);
    }
  }

}
