<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Symfony\Component\HttpKernel\Exception\UnprocessableEntityHttpException;

/**
 * A save is refused since somebody else has saved at the same moment.
 */
final class OverlappingSaveException extends UnprocessableEntityHttpException {}
