<?php

namespace Drupal\publisher\Entity;

use Drupal\publishing\EditionBase;

/**
 * The edition entity with the names Quoin expects by default.
 *
 * @ContentEntityType(
 *   id = "publisher_container",
 *   label = @Translation("Publisher container"),
 *   label_collection = @Translation("Publisher containers"),
 *   bundle_label = @Translation("Publisher container type"),
 *   handlers = {
 *     "access" = "Drupal\publishing\EditionAccessControlHandler",
 *     "route_provider" = {
 *       "html" = "Drupal\Core\Entity\Routing\DefaultHtmlRouteProvider",
 *     },
 *   },
 *   base_table = "publisher_container",
 *   data_table = "publisher_container_field_data",
 *   revision_table = "publisher_container_revision",
 *   revision_data_table = "publisher_container_field_revision",
 *   translatable = TRUE,
 *   show_revision_ui = TRUE,
 *   admin_permission = "administer publisher_container",
 *   bundle_entity_type = "publisher_container_type",
 *   entity_keys = {
 *     "id" = "id",
 *     "revision" = "revision_id",
 *     "bundle" = "type",
 *     "label" = "title",
 *     "langcode" = "langcode",
 *     "uuid" = "uuid",
 *     "status" = "status",
 *     "published" = "status",
 *     "uid" = "uid",
 *     "owner" = "uid",
 *   },
 *   revision_metadata_keys = {
 *     "revision_user" = "revision_uid",
 *     "revision_created" = "revision_timestamp",
 *     "revision_log_message" = "revision_log",
 *   },
 *   links = {
 *     "canonical" = "/publisher_container/{publisher_container}",
 *   },
 * )
 */
class PublisherContainer extends EditionBase {
}
