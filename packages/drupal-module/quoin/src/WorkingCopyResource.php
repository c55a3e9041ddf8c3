<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Serialization\Json;
use Drupal\Core\Entity\ContentEntityInterface;
use Drupal\Core\Entity\RevisionableEntityBundleInterface;
use Drupal\Core\Entity\RevisionLogInterface;
use Drupal\jsonapi\Controller\EntityResource;
use Drupal\jsonapi\Exception\EntityAccessDeniedHttpException;
use Drupal\jsonapi\JsonApiResource\JsonApiDocumentTopLevel;
use Drupal\jsonapi\JsonApiResource\ResourceObject;
use Drupal\jsonapi\JsonApiResource\ResourceObjectData;
use Drupal\jsonapi\ResourceResponse;
use Drupal\jsonapi\ResourceType\ResourceType;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Exception\BadRequestHttpException;

/**
 * Changes the working copy of an entity, as JSON:API changes one without.
 *
 * JSON:API refuses an entity whose latest revision is not the default one
 * (https://www.drupal.org/project/drupal/issues/2795279). All else is as in
 * \Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
final class WorkingCopyResource extends EntityResource {

  /**
   * Patches the latest revision of an entity.
   *
   * What core's content_moderation decides by the state that the entity gets,
   * whether it becomes the default revision, stays with it.
   *
   * @see \Drupal\content_moderation\EntityOperations::entityPresave()
   */
  public function patchWorkingCopy(ResourceType $resource_type, ContentEntityInterface $entity, Request $request): ResourceResponse {
    if ($entity->isDefaultRevision() || !$entity->isLatestRevision()) {
      return $this->patchIndividual($resource_type, $entity, $request);
    }
    $access = $this->entityAccessChecker->checkEntityAccess($entity, 'view', $this->user);
    if (!$access->isAllowed()) {
      throw new EntityAccessDeniedHttpException($entity, $access, '/data', 'The current user is not allowed to PATCH the selected resource.');
    }
    $this->patchFields($resource_type, $entity, $request);
    $this->nameRevision($entity);
    $entity->save();
    $primary_data = new ResourceObjectData([ResourceObject::createFromEntity($resource_type, $entity)], 1);
    return $this->buildWrappedResponse($primary_data, $request, $this->getIncludes($request, $primary_data));
  }

  /**
   * Sets the fields of the document, and validates them.
   */
  private function patchFields(ResourceType $resource_type, ContentEntityInterface $entity, Request $request): void {
    $parsed_entity = $this->deserialize($resource_type, $request, JsonApiDocumentTopLevel::class);
    $data = Json::decode($request->getContent())['data'];
    if (($data['id'] ?? '') != $entity->uuid()) {
      throw new BadRequestHttpException(sprintf('The selected entity (%s) does not match the ID in the payload (%s).', $entity->uuid(), $data['id'] ?? ''));
    }
    $names = array_keys(($data['attributes'] ?? []) + ($data['relationships'] ?? []));
    $fields = array_map([$resource_type, 'getInternalName'], $names);
    foreach ($fields as $field) {
      $this->updateEntityField($resource_type, $parsed_entity, $entity, $field);
    }
    static::validate($entity, $fields);
  }

  /**
   * Makes a revision where the bundle wants it, and names who makes it.
   */
  private function nameRevision(ContentEntityInterface $entity): void {
    $bundle_type = $entity->getEntityType()->getBundleEntityType();
    $bundle = $bundle_type ? $this->entityTypeManager->getStorage($bundle_type)->load($entity->bundle()) : NULL;
    if ($bundle instanceof RevisionableEntityBundleInterface) {
      $entity->setNewRevision($bundle->shouldCreateNewRevision());
    }
    if ($entity instanceof RevisionLogInterface && $entity->isNewRevision()) {
      $entity->setRevisionUserId($this->user->id());
      $entity->setRevisionCreationTime($this->time->getRequestTime());
    }
  }

}
