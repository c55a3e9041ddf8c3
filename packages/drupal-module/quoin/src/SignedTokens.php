<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Datetime\TimeInterface;
use Drupal\Component\Serialization\Json;
use Drupal\Core\Site\Settings;

/**
 * Makes and reads the JWTs by which Drupal and Quoin know each other.
 *
 * Both directions are signed with HS256 by the secret that settings.php and
 * Quoin's CMS_MODULE_SECRET have.
 */
final class SignedTokens {

  /**
   * The fewest characters of a secret.
   */
  public const LEAST_CHARACTERS = 32;

  /**
   * How far the clocks of Drupal and Quoin may be apart, in seconds.
   */
  private const LEEWAY = 30;

  /**
   * How long a token for Quoin is valid, in seconds.
   */
  private const LIFETIME = 30;

  public function __construct(
    private readonly Settings $settings,
    private readonly TimeInterface $time,
  ) {}

  /**
   * Whether there is a secret to sign by.
   */
  public function hasSecret(): bool {
    return strlen($this->secret()) >= self::LEAST_CHARACTERS;
  }

  /**
   * Signs a request to Quoin.
   *
   * @param string $body
   *   The body that it has.
   * @param string $uid
   *   Who causes it.
   */
  public function forRequest(string $body, string $uid): string {
    $claims = [
      'iss' => 'drupal',
      'aud' => 'quoin',
      'sub' => $uid,
      'exp' => $this->time->getCurrentTime() + self::LIFETIME,
      'body' => $this->encode(hash('sha256', $body, TRUE)),
    ];
    $text = $this->part(['alg' => 'HS256', 'typ' => 'JWT']) . '.' . $this->part($claims);
    return $text . '.' . $this->signature($text);
  }

  /**
   * The claims of a token that Quoin has signed for Drupal.
   *
   * @return array|null
   *   NULL for any other token, and for one that has expired.
   */
  public function fromQuoin(string $token): ?array {
    $parts = explode('.', $token);
    if (!$this->hasSecret() || count($parts) !== 3) {
      return NULL;
    }
    [$header, $payload, $signature] = $parts;
    if (!hash_equals($this->signature("$header.$payload"), $signature)) {
      return NULL;
    }
    $claims = $this->claimsIn($payload);
    $is_ours = ($this->claimsIn($header)['alg'] ?? NULL) === 'HS256'
      && ($claims['iss'] ?? NULL) === 'quoin'
      && ($claims['aud'] ?? NULL) === 'drupal'
      && is_int($claims['exp'] ?? NULL)
      && $claims['exp'] + self::LEEWAY > $this->time->getCurrentTime();
    return $is_ours ? $claims : NULL;
  }

  /**
   * The secret of settings.php; an empty text where there is none.
   */
  private function secret(): string {
    $secret = $this->settings->get('quoin', [])['secret'] ?? '';
    return is_string($secret) ? $secret : '';
  }

  /**
   * The signature of the first two parts of a token.
   */
  private function signature(string $text): string {
    return $this->encode(hash_hmac('sha256', $text, $this->secret(), TRUE));
  }

  /**
   * A part of a token with claims.
   */
  private function part(array $claims): string {
    return $this->encode(Json::encode($claims));
  }

  /**
   * The claims in a part of a token; none in one that is no JSON object.
   */
  private function claimsIn(string $part): array {
    $claims = Json::decode((string) base64_decode(strtr($part, '-_', '+/')));
    return is_array($claims) ? $claims : [];
  }

  /**
   * Bytes as base64url without padding.
   */
  private function encode(string $bytes): string {
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
  }

}
