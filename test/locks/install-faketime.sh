#!/bin/sh
# Installs libfaketime, with which clocks.slow.test.ts gives each instance a
# clock of its own, on Debian and its kin; does nothing where it is there.
# Needs the rights to run apt-get only then.
set -eu

is_there () {
  ls /usr/lib/*/faketime/libfaketime.so.1 > /dev/null 2>&1
}

if is_there; then
  exit 0
fi
if ! command -v apt-get > /dev/null; then
  echo 'install-faketime: no apt-get here' >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends libfaketime

if ! is_there; then
  echo 'install-faketime: installed, but there is no libfaketime.so.1' >&2
  exit 1
fi
