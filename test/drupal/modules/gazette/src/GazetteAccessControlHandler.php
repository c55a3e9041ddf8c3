<?php

namespace Drupal\gazette;

use Drupal\Core\Access\AccessResult;
use Drupal\Core\Entity\EntityAccessControlHandler;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Entity\EntityPublishedInterface;
use Drupal\Core\Session\AccountInterface;

/**
 * Access to gazettes, leaflets and scraps.
 */
class GazetteAccessControlHandler extends EntityAccessControlHandler {

  /**
   * {@inheritdoc}
   */
  protected function checkAccess(EntityInterface $entity, $operation, AccountInterface $account) {
    $admin = AccessResult::allowedIfHasPermission($account, 'administer gazettes');
    if ($admin->isAllowed()) {
      return $admin;
    }
    if ($operation === 'view') {
      $isOut = !$entity instanceof EntityPublishedInterface || $entity->isPublished();
      return AccessResult::allowedIfHasPermission($account, $isOut ? 'read gazettes' : 'read gazette drafts')->addCacheableDependency($entity);
    }
    return AccessResult::allowedIfHasPermission($account, 'write gazettes');
  }

  /**
   * {@inheritdoc}
   */
  protected function checkCreateAccess(AccountInterface $account, array $context, $entity_bundle = NULL) {
    return AccessResult::allowedIfHasPermissions($account, ['administer gazettes', 'write gazettes'], 'OR');
  }

}
