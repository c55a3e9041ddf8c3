<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\EntityTypeManagerInterface;
use Drupal\Core\Entity\RevisionableStorageInterface;
use Drupal\Core\Entity\TranslatableRevisionableInterface;
use Drupal\Core\Entity\TranslatableRevisionableStorageInterface;
use Drupal\Core\Routing\EnhancerInterface;
use Drupal\Core\Routing\RouteObjectInterface;
use Drupal\jsonapi\ParamConverter\ResourceTypeConverter;
use Drupal\jsonapi\ResourceType\ResourceType;
use Drupal\jsonapi\ResourceType\ResourceTypeRepositoryInterface;
use Drupal\jsonapi\Routing\Routes;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\Routing\Route;
use Symfony\Component\Routing\RouteCollection;

/**
 * Routes below those of JSON:API that change the working copy of an entity.
 *
 * @see \Drupal\jsonapi\Routing\Routes::getIndividualRoutesForResourceType()
 */
final class WorkingCopyRoutes implements EnhancerInterface {

  /**
   * The controller. Its name begins as that of JSON:API's does, by which core
   * tells requests of JSON:API.
   */
  private const CONTROLLER = Routes::CONTROLLER_SERVICE_NAME . '.quoin:patchWorkingCopy';

  public function __construct(
    private readonly ResourceTypeRepositoryInterface $resourceTypes,
    private readonly EntityTypeManagerInterface $entityTypes,
    private readonly string $basePath,
    private readonly array $providers,
  ) {}

  /**
   * A route for each resource type with revisions.
   */
  public function routes(): RouteCollection {
    $routes = new RouteCollection();
    foreach ($this->resourceTypes->all() as $type) {
      if ($type->isMutable() && $type->isLocatable() && $type->isVersionable() && !$type->isInternal()) {
        $routes->add('quoin.working_copy.' . $type->getTypeName(), $this->route($type));
      }
    }
    return $routes;
  }

  /**
   * Puts the working copy in the place of the entity that is converted.
   *
   * So access is that to the working copy, and whatever looks at the entity of
   * the request sees it. An entity stays as it is where the latest revision is
   * of another language: what this language has may be older.
   *
   * @see \Drupal\Core\Entity\EntityRepository::getActive()
   */
  public function enhance(array $defaults, Request $request): array {
    if (($defaults[RouteObjectInterface::CONTROLLER_NAME] ?? NULL) !== self::CONTROLLER) {
      return $defaults;
    }
    $entity = $defaults['entity'];
    $storage = $this->entityTypes->getStorage($entity->getEntityTypeId());
    assert($storage instanceof RevisionableStorageInterface);
    $langcode = $entity->language()->getId();
    $latest = $storage->getLatestRevisionId($entity->id());
    if ($entity instanceof TranslatableRevisionableInterface && $entity->isTranslatable() && $storage instanceof TranslatableRevisionableStorageInterface) {
      $affected = $storage->getLatestTranslationAffectedRevisionId($entity->id(), $langcode);
      if ($affected != $latest && $affected != $entity->getLoadedRevisionId()) {
        return $defaults;
      }
    }
    $revision = $storage->loadRevision($latest);
    if ($revision instanceof TranslatableRevisionableInterface && $revision->isTranslatable()) {
      $revision = $revision->hasTranslation($langcode) ? $revision->getTranslation($langcode) : NULL;
    }
    return ['entity' => $revision ?? $entity] + $defaults;
  }

  /**
   * The route of a resource type, as JSON:API makes that of a PATCH.
   */
  private function route(ResourceType $type): Route {
    $route = new Route(rtrim($this->basePath, '/') . $type->getPath() . '/{entity}/working-copy');
    $route->addDefaults([
      RouteObjectInterface::CONTROLLER_NAME => self::CONTROLLER,
      Routes::RESOURCE_TYPE_KEY => $type->getTypeName(),
      Routes::JSON_API_ROUTE_FLAG_KEY => TRUE,
    ]);
    $route->setMethods(['PATCH']);
    $route->addRequirements([
      '_entity_access' => 'entity.update',
      '_csrf_request_header_token' => 'TRUE',
      '_content_type_format' => 'api_json',
      '_format' => 'api_json',
    ]);
    $route->addOptions([
      '_auth' => array_keys($this->providers),
      'parameters' => [
        'entity' => ['type' => 'entity:' . $type->getEntityTypeId()],
        Routes::RESOURCE_TYPE_KEY => ['type' => ResourceTypeConverter::PARAM_TYPE_ID],
      ],
    ]);
    return $route;
  }

}
