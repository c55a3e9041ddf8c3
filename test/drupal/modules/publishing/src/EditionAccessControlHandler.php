<?php

namespace Drupal\publishing;

use Drupal\Core\Access\AccessResult;
use Drupal\Core\Entity\EntityAccessControlHandler;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Session\AccountInterface;

/**
 * Access to editions: by permission and, for viewing, by published status.
 */
class EditionAccessControlHandler extends EntityAccessControlHandler {

  /**
   * {@inheritdoc}
   */
  protected function checkAccess(EntityInterface $entity, $operation, AccountInterface $account) {
    $id = $this->entityTypeId;
    $admin = AccessResult::allowedIfHasPermission($account, "administer $id");
    if ($admin->isAllowed()) {
      return $admin;
    }
    switch ($operation) {
      case 'view':
        $kind = $entity->isPublished() ? 'published' : 'unpublished';
        return AccessResult::allowedIfHasPermission($account, "view $kind $id")->addCacheableDependency($entity);

      case 'update':
      case 'delete':
        return AccessResult::allowedIfHasPermission($account, "$operation $id");

      case 'view all revisions':
      case 'view revision':
        return AccessResult::allowedIfHasPermission($account, "view $id revisions");
    }
    return AccessResult::neutral();
  }

  /**
   * {@inheritdoc}
   */
  protected function checkCreateAccess(AccountInterface $account, array $context, $entity_bundle = NULL) {
    return AccessResult::allowedIfHasPermissions($account, ["administer $this->entityTypeId", "create $this->entityTypeId"], 'OR');
  }

}
