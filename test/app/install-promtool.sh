#!/bin/sh
# Installs promtool on Debian, unless it is there: alerts.slow.test.ts tries the
# rules for Prometheus with it. apt-get needs the rights of root.
set -eu

if ! command -v promtool > /dev/null 2>&1; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends prometheus
fi
