<?php

namespace Drupal\publishing;

/**
 * The permissions of every edition entity type, named after its id.
 */
class EditionPermissions {

  /**
   * Lists them for the permission system.
   */
  public static function permissions(): array {
    $permissions = [];
    foreach (\Drupal::entityTypeManager()->getDefinitions() as $id => $entity_type) {
      if (!EditionBase::isBehind($entity_type)) {
        continue;
      }
      $verbs = ['administer', 'view published', 'view unpublished', 'create', 'update', 'delete'];
      $names = array_map(fn ($verb) => "$verb $id", $verbs);
      // Reading the field storage settings asks for a permission of the name
      // "administer ENTITY_TYPE fields", which only Field UI would define.
      array_push($names, "administer $id types", "administer $id fields", "view $id revisions");
      foreach ($names as $name) {
        $permissions[$name] = ['title' => ucfirst($name), 'provider' => $entity_type->getProvider()];
      }
    }
    return $permissions;
  }

}
