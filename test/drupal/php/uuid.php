<?php

/**
 * @file
 * Uuids which every installation of the test site shares.
 */

/**
 * The uuid that belongs to a name: always the same, of version 4 in form.
 */
function uuid_of(string $name): string {
  $hash = md5("quoin:$name");
  $hash[12] = '4';
  $hash[16] = dechex(8 + hexdec($hash[16]) % 4);
  return preg_replace('/^(.{8})(.{4})(.{4})(.{4})(.{12})$/', '$1-$2-$3-$4-$5', $hash);
}
