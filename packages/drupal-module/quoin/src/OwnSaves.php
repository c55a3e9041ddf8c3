<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Core\Entity\EntityInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RequestStack;

/**
 * Knows the saves that come through Quoin, by the header field Quoin-Save.
 *
 * Quoin has checked their locks itself, and needs to be told none of them.
 */
final class OwnSaves {

  /**
   * The name of the header field.
   */
  public const HEADER = 'Quoin-Save';

  /**
   * The attribute of a request with the claims of its token, FALSE for none.
   */
  private const CLAIMS = '_quoin_save';

  public function __construct(
    private readonly RequestStack $requests,
    private readonly SignedTokens $tokens,
  ) {}

  /**
   * Whether an entity is saved by Quoin.
   *
   * What hooks save besides, in the same request, is not.
   */
  public function cover(EntityInterface $entity): bool {
    $request = $this->requests->getMainRequest();
    $claims = $request ? $this->claimsOf($request) : NULL;
    if ($claims === NULL) {
      return FALSE;
    }
    $uuid = $claims['sub'] ?? NULL;
    return $uuid === NULL || strcasecmp((string) $uuid, (string) $entity->uuid()) === 0;
  }

  /**
   * The claims of a request's token, which is verified once.
   */
  private function claimsOf(Request $request): ?array {
    $token = $request->headers->get(self::HEADER);
    if ($token === NULL) {
      return NULL;
    }
    if (!$request->attributes->has(self::CLAIMS)) {
      $request->attributes->set(self::CLAIMS, $this->tokens->fromQuoin($token) ?? FALSE);
    }
    return $request->attributes->get(self::CLAIMS) ?: NULL;
  }

}
