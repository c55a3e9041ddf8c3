#!/bin/sh
# Installs libfaketime on Debian, unless it is there: clocks.slow.test.ts gives
# each instance a clock of its own with it. apt-get needs the rights of root.
set -eu

if ! ls /usr/lib/*/faketime/libfaketime.so.1 > /dev/null 2>&1; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libfaketime
fi
