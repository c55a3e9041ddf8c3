<?php

namespace Drupal\publisher\Entity;

use Drupal\publishing\EditionTypeBase;

/**
 * A bundle of publisher_container.
 *
 * @ConfigEntityType(
 *   id = "publisher_container_type",
 *   label = @Translation("Publisher container type"),
 *   handlers = {
 *     "access" = "Drupal\Core\Entity\EntityAccessControlHandler",
 *   },
 *   admin_permission = "administer publisher_container types",
 *   config_prefix = "publisher_container_type",
 *   bundle_of = "publisher_container",
 *   entity_keys = {
 *     "id" = "id",
 *     "label" = "label",
 *     "uuid" = "uuid",
 *   },
 *   config_export = {
 *     "id",
 *     "label",
 *     "description",
 *     "new_revision",
 *   },
 * )
 */
class PublisherContainerType extends EditionTypeBase {}
