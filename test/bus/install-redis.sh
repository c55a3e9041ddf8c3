#!/bin/sh
# Installs redis-server on Debian, unless it is there: redis.slow.test.ts runs
# it, on a port of its own. apt-get needs the rights of root.
set -eu

if ! command -v redis-server > /dev/null 2>&1; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends redis-server
fi
