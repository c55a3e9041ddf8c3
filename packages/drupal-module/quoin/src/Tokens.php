<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Datetime\TimeInterface;
use Drupal\Core\Session\AccountInterface;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Exception\AccessDeniedHttpException;
use Symfony\Component\HttpKernel\Exception\ServiceUnavailableHttpException;
use Symfony\Component\Routing\Route;

/**
 * Gives who is logged in a token for Quoin, and Quoin the keys to verify it.
 */
final class Tokens {

  /**
   * Who issues the tokens, and for whom: what AUTH_ISSUER and AUTH_AUDIENCE of
   * Quoin have to be.
   */
  private const ISSUER = 'drupal';
  private const AUDIENCE = 'quoin';

  /**
   * How long a token is valid, in seconds.
   */
  private const SECONDS = 300;

  public function __construct(
    private readonly TokenKey $key,
    private readonly AccountInterface $account,
    private readonly TimeInterface $time,
  ) {}

  /**
   * The routes; none where settings.php names no key.
   */
  public function routes(): array {
    if (!$this->key->isConfigured()) {
      return [];
    }
    $route = fn (string $name, array $requirements) => new Route(
      "/quoin/$name", ['_controller' => "quoin.tokens:$name"], $requirements, ['_auth' => ['cookie'], 'no_cache' => TRUE], methods: ['GET'],
    );
    return [
      'quoin.token' => $route('token', ['_user_is_logged_in' => 'TRUE']),
      'quoin.jwks' => $route('jwks', ['_access' => 'TRUE']),
    ];
  }

  /**
   * Answers with a token for the user of the session, and when it expires.
   *
   * Drupal asks for no X-CSRF-Token of a request that changes nothing. A page
   * of another site can send this one, but not read the answer, unless the site
   * lets it (CORS): so it is refused.
   */
  public function token(Request $request): JsonResponse {
    if (!$this->isOfThisSite($request)) {
      throw new AccessDeniedHttpException('Tokens are for pages of this site.');
    }
    $now = $this->time->getCurrentTime();
    $claims = [
      'iss' => self::ISSUER,
      'aud' => self::AUDIENCE,
      'sub' => (string) $this->account->id(),
      'name' => (string) $this->account->getDisplayName(),
      'roles' => array_values($this->account->getRoles()),
      'iat' => $now,
      'exp' => $now + self::SECONDS,
    ];
    $token = $this->usable(fn () => $this->key->sign(
      fn (string $kid) => $this->encoded(['alg' => 'RS256', 'typ' => 'JWT', 'kid' => $kid]) . '.' . $this->encoded($claims)
    ));
    return $this->answer(['token' => $token, 'expires' => $claims['exp']]);
  }

  /**
   * Answers with the public keys, as a JSON Web Key Set.
   */
  public function jwks(): JsonResponse {
    return $this->answer(['keys' => $this->usable(fn () => $this->key->publicKeys())]);
  }

  /**
   * Whether a browser sends a request for a page of this site.
   *
   * Without TLS browsers say no Sec-Fetch-Site. They name the Origin of a page
   * that wants to read an answer of another one.
   */
  private function isOfThisSite(Request $request): bool {
    $site = $request->headers->get('Sec-Fetch-Site');
    return $site === NULL
      ? in_array($request->headers->get('Origin'), [NULL, $request->getSchemeAndHttpHost()], TRUE)
      : in_array($site, ['same-origin', 'none'], TRUE);
  }

  /**
   * What the key makes; an answer that says nothing of it where it cannot.
   */
  private function usable(callable $make): mixed {
    try {
      return $make();
    }
    catch (\RuntimeException $exception) {
      throw new ServiceUnavailableHttpException(NULL, 'The key of the tokens cannot be used: see the status report.', $exception);
    }
  }

  /**
   * A part of a JSON Web Token.
   */
  private function encoded(array $part): string {
    return TokenKey::encode(json_encode($part, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR));
  }

  /**
   * An answer that no cache keeps.
   */
  private function answer(array $content): JsonResponse {
    return new JsonResponse($content, 200, ['Cache-Control' => 'no-store, private']);
  }

}
