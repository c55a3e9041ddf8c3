<?php

namespace Drupal\newsroom\Entity;

use Drupal\publishing\EditionTypeBase;

/**
 * A bundle of issue_bundle.
 *
 * @ConfigEntityType(
 *   id = "issue_kind",
 *   label = @Translation("Issue kind"),
 *   handlers = {
 *     "access" = "Drupal\Core\Entity\EntityAccessControlHandler",
 *   },
 *   admin_permission = "administer issue_bundle types",
 *   config_prefix = "issue_kind",
 *   bundle_of = "issue_bundle",
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
class IssueKind extends EditionTypeBase {}
