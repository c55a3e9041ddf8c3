#!/bin/sh
# Installs what the Drupal test site needs of PHP, on Debian and its kin; does
# nothing where it is all there. Needs the rights to run apt-get only then.
#
# Beyond a bare PHP these are gd and pdo_sqlite (in php-sqlite3); xml, mbstring
# and curl are extra packages too where PHP came with nothing. Composer is
# needed only when no Drupal tree is given (DRUPAL_ROOT).
set -eu

wanted="gd pdo_sqlite dom SimpleXML xml mbstring session tokenizer"

missing () {
  if ! command -v php > /dev/null; then
    echo php
    return
  fi
  loaded=$(php -m)
  for extension in $wanted; do
    echo "$loaded" | grep -qix "$extension" || echo "$extension"
  done
}

need_composer () {
  [ -z "${DRUPAL_ROOT:-}" ] && ! command -v composer > /dev/null
}

if [ -z "$(missing)" ] && ! need_composer; then
  exit 0
fi
if ! command -v apt-get > /dev/null; then
  echo "install-php: no apt-get here; wanting: $(missing | tr '\n' ' ')" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -q

# Extensions must be of the PHP that runs: php8.2-gd for 8.2, where Debian has
# such names, else those of the distribution's default PHP.
if command -v php > /dev/null; then
  php="php$(php -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;')"
  apt-cache show "$php-gd" > /dev/null 2>&1 || php=php
else
  php=php
fi
packages="$php-cli $php-gd $php-sqlite3 $php-xml $php-mbstring $php-curl"
if need_composer; then
  packages="$packages composer unzip"
fi
# shellcheck disable=SC2086 # one word each
apt-get install -q -y --no-install-recommends $packages

left=$(missing | tr '\n' ' ')
if [ -n "$left" ]; then
  echo "install-php: installed, but PHP ($(command -v php)) still lacks: $left" >&2
  exit 1
fi
