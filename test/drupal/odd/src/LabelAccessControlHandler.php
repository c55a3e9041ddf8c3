<?php

namespace Drupal\odd;

use Drupal\Core\Access\AccessResult;
use Drupal\Core\Entity\EntityInterface;
use Drupal\Core\Session\AccountInterface;
use Drupal\publishing\EditionAccessControlHandler;

/**
 * Shows everybody the labels of all editions.
 */
class LabelAccessControlHandler extends EditionAccessControlHandler {

  /**
   * {@inheritdoc}
   */
  protected $viewLabelOperation = TRUE;

  /**
   * {@inheritdoc}
   */
  protected function checkAccess(EntityInterface $entity, $operation, AccountInterface $account) {
    return $operation === 'view label' ? AccessResult::allowed() : parent::checkAccess($entity, $operation, $account);
  }

}
