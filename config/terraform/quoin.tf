# The lock table of Quoin, the policies of those who use it, set it up or check it, and alarms: as config/aws/quoin.yaml.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0, < 7.0"
    }
  }
}

variable "table_name" {
  description = "Quoin's setting DATA_STATE_TABLE"
  type        = string
  default     = "DataState"

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]{3,255}$", var.table_name))
    error_message = "The name must have 3 to 255 of A-Z a-z 0-9 _ . -"
  }
}

variable "kms_key_arn" {
  description = "A key of your own in KMS that encrypts the table; without it DynamoDB takes its own. Whoever applies this needs kms:CreateGrant on it"
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "The key must be named by its ARN, arn:aws:kms:...:key/..., not by an alias"
  }
}

variable "alarm_topic_arn" {
  description = "The SNS topic that alarms go to; without it there are no alarms"
  type        = string
  default     = null

  validation {
    condition     = var.alarm_topic_arn == null || can(regex("^arn:[a-z-]+:sns:.+$", var.alarm_topic_arn))
    error_message = "The topic must be named by its ARN, arn:aws:sns:..."
  }
}

variable "with_setup_policy" {
  description = "Whether to make the policy that npm run table and npm run doctor need besides"
  type        = bool
  default     = false
}

data "aws_region" "here" {}

resource "aws_dynamodb_table" "locks" {
  name         = var.table_name
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "env_entityType_entityId"
  range_key    = "fieldName"

  attribute {
    name = "env_entityType_entityId"
    type = "S"
  }

  attribute {
    name = "fieldName"
    type = "S"
  }

  ttl {
    attribute_name = "removeAt"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  deletion_protection_enabled = true

  # The locks and drafts of the editors are not to go with this configuration.
  lifecycle {
    prevent_destroy = true
  }
}

# For the role that Quoin runs with.
data "aws_iam_policy_document" "service" {
  statement {
    actions = [
      "dynamodb:ConditionCheckItem",
      "dynamodb:DeleteItem",
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:Query",
    ]
    resources = [aws_dynamodb_table.locks.arn]
  }

  # DynamoDB uses the key on behalf of who uses the table.
  dynamic "statement" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      actions = [
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey*",
        "kms:ReEncrypt*",
      ]
      resources = [statement.value]

      condition {
        test     = "StringEquals"
        variable = "kms:ViaService"
        values   = ["dynamodb.${data.aws_region.here.id}.amazonaws.com"]
      }
    }
  }
}

resource "aws_iam_policy" "service" {
  name_prefix = "quoin-"
  description = "What Quoin needs to keep locks"
  policy      = data.aws_iam_policy_document.service.json
}

# For whoever runs npm run table or npm run doctor, besides the policy above.
data "aws_iam_policy_document" "setup" {
  statement {
    actions = [
      "dynamodb:CreateTable",
      "dynamodb:DescribeContinuousBackups",
      "dynamodb:DescribeTable",
      "dynamodb:DescribeTimeToLive",
      "dynamodb:UpdateContinuousBackups",
      "dynamodb:UpdateTimeToLive",
    ]
    resources = [aws_dynamodb_table.locks.arn]
  }
}

resource "aws_iam_policy" "setup" {
  count = var.with_setup_policy ? 1 : 0

  name_prefix = "quoin-setup-"
  description = "What npm run table and npm run doctor need besides"
  policy      = data.aws_iam_policy_document.setup.json
}

locals {
  alarms = {
    throttles = {
      description = "Requests to the lock table were throttled: editors wait, or get 503 STORE_UNAVAILABLE"
      metrics     = [for name in ["ReadThrottleEvents", "WriteThrottleEvents"] : { name = name, dimensions = { TableName = var.table_name } }]
    }
    system-errors = {
      description = "DynamoDB fails (5xx) on requests to the lock table"
      metrics     = [for name in ["DeleteItem", "GetItem", "PutItem", "Query", "TransactWriteItems"] : { name = "SystemErrors", dimensions = { TableName = var.table_name, Operation = name } }]
    }
    user-errors = {
      description = "DynamoDB refuses requests (4xx) of this account and region: missing permissions, or a wrong table. Refused locks do not count; with EDITION_LOCKS=enforce refused saves may"
      metrics     = [{ name = "UserErrors", dimensions = {} }]
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "alarms" {
  for_each = { for name, alarm in local.alarms : name => alarm if var.alarm_topic_arn != null }

  alarm_name          = "quoin-${var.table_name}-${each.key}"
  alarm_description   = each.value.description
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  treat_missing_data  = "notBreaching"
  alarm_actions       = [var.alarm_topic_arn]
  ok_actions          = [var.alarm_topic_arn]

  metric_query {
    id          = "sum"
    expression  = "SUM(FILL(METRICS(), 0))"
    label       = each.key
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { for index, metric in each.value.metrics : "m${index}" => metric }

    content {
      id = metric_query.key

      metric {
        namespace   = "AWS/DynamoDB"
        metric_name = metric_query.value.name
        dimensions  = metric_query.value.dimensions
        period      = 60
        stat        = "Sum"
      }
    }
  }
}

output "table_name" {
  description = "Quoin's setting DATA_STATE_TABLE"
  value       = aws_dynamodb_table.locks.name
}

output "service_policy_arn" {
  description = "To be attached to the role that Quoin runs with"
  value       = aws_iam_policy.service.arn
}

output "setup_policy_arn" {
  description = "To be attached to whoever runs npm run table or npm run doctor"
  value       = one(aws_iam_policy.setup[*].arn)
}
