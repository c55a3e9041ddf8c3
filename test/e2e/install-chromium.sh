#!/bin/sh
# Installs the browser of the end-to-end tests, on Debian and its kin; does
# nothing where there is one. Needs the rights to run apt-get only then.
set -eu

if [ -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
  exit 0
fi
if [ -n "${CHROMIUM:-}" ]; then
  echo "install-chromium: there is no $CHROMIUM" >&2
  exit 1
fi
if ! command -v apt-get > /dev/null; then
  echo 'install-chromium: no apt-get here; set CHROMIUM to a Chromium that is there' >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core

if [ ! -x /usr/bin/chromium ]; then
  echo 'install-chromium: installed, but there is no /usr/bin/chromium' >&2
  exit 1
fi
