<?php

namespace Drupal\newsroom\Entity;

use Drupal\publishing\EditionBase;

/**
 * The edition entity under other names, for the renamed variant.
 *
 * @ContentEntityType(
 *   id = "issue_bundle",
 *   label = @Translation("Issue bundle"),
 *   label_collection = @Translation("Issue bundles"),
 *   bundle_label = @Translation("Issue kind"),
 *   handlers = {
 *     "access" = "Drupal\publishing\EditionAccessControlHandler",
 *     "route_provider" = {
 *       "html" = "Drupal\Core\Entity\Routing\DefaultHtmlRouteProvider",
 *     },
 *   },
 *   base_table = "issue_bundle",
 *   data_table = "issue_bundle_field_data",
 *   revision_table = "issue_bundle_revision",
 *   revision_data_table = "issue_bundle_field_revision",
 *   translatable = TRUE,
 *   show_revision_ui = TRUE,
 *   admin_permission = "administer issue_bundle",
 *   bundle_entity_type = "issue_kind",
 *   entity_keys = {
 *     "id" = "iid",
 *     "revision" = "vid",
 *     "bundle" = "bundle",
 *     "label" = "name",
 *     "langcode" = "langcode",
 *     "uuid" = "uuid",
 *     "published" = "published",
 *     "owner" = "author",
 *   },
 *   revision_metadata_keys = {
 *     "revision_user" = "revision_author",
 *     "revision_created" = "revision_time",
 *     "revision_log_message" = "revision_note",
 *   },
 *   links = {
 *     "canonical" = "/issue_bundle/{issue_bundle}",
 *   },
 * )
 */
class IssueBundle extends EditionBase {

  const CREATED = 'opened';
  const CHANGED = 'modified';
  const KEY_FIELD = 'field_code';
  const NOTE_FIELD = 'field_memo';

}
