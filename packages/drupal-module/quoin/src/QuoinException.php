<?php

declare(strict_types=1);

namespace Drupal\quoin;

/**
 * Says why Quoin did not do what it was asked to.
 *
 * The code is the status of its answer; 0 where there was none.
 */
final class QuoinException extends \RuntimeException {}
