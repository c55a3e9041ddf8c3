<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Datetime\TimeInterface;
use Drupal\Core\Site\Settings;
use Drupal\Core\StringTranslation\StringTranslationTrait;

/**
 * The key that signs tokens, from a file that `quoin drupal-key` has written.
 *
 * PHP's openssl signs and does no more: to make a key it needs a configuration
 * file that is missing in places, and sodium is not in every PHP.
 */
final class TokenKey {

  use StringTranslationTrait;

  /**
   * The largest file that is read, in bytes.
   */
  private const LARGEST_FILE = 65536;

  /**
   * What nobody but the owner and the group of the file may do.
   */
  private const REFUSED_MODE = 0027;

  public function __construct(
    private readonly string $root,
    private readonly Settings $settings,
    private readonly TimeInterface $time,
  ) {}

  /**
   * Whether settings.php names a file.
   */
  public function isConfigured(): bool {
    return $this->file() !== '';
  }

  /**
   * Signs a text by RS256 (RFC 7518, section 3.3).
   *
   * @param callable $text_for
   *   Makes the text of the id of the key.
   *
   * @return string
   *   The text with its signature.
   *
   * @throws \RuntimeException
   *   Where the key cannot be used.
   */
  public function sign(callable $text_for): string {
    ['kid' => $kid, 'private_key' => $key] = $this->content();
    $text = $text_for($kid);
    if (!openssl_sign($text, $signature, $key, OPENSSL_ALGO_SHA256)) {
      throw new \RuntimeException('openssl cannot sign with the key in key_file.');
    }
    return $text . '.' . self::encode($signature);
  }

  /**
   * The public keys that are not over yet (RFC 7517, section 5).
   *
   * @throws \RuntimeException
   *   Where the file cannot be used.
   */
  public function publicKeys(): array {
    $now = $this->time->getCurrentTime();
    $keys = array_filter($this->content()['keys'], fn (array $key) => ($key['expires'] ?? $now + 1) > $now);
    return array_values(array_map(fn (array $key) => array_diff_key($key, ['expires' => 0]), $keys));
  }

  /**
   * What the status report says of tokens.
   */
  public function requirements(): array {
    $problem = $this->isConfigured() ? $this->problem() : NULL;
    return [
      'quoin_tokens' => [
        'title' => $this->t('Quoin: tokens'),
        'value' => $this->isConfigured() ? $this->t('Users get tokens') : $this->t('Nobody gets a token'),
        'description' => $problem ?? '',
        'severity' => $problem === NULL ? REQUIREMENT_OK : REQUIREMENT_ERROR,
      ],
    ];
  }

  /**
   * What is wrong with the file, for the status report; NULL if nothing is.
   */
  public function problem(): ?string {
    try {
      $this->sign(fn (string $kid) => $kid);
      return NULL;
    }
    catch (\RuntimeException $exception) {
      return $exception->getMessage();
    }
  }

  /**
   * Encodes bytes for a JSON Web Token (RFC 7515, appendix C).
   */
  public static function encode(string $bytes): string {
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
  }

  /**
   * The content of the file, if it is where and as it has to be.
   */
  private function content(): array {
    $file = realpath($this->file());
    if ($file === FALSE || !is_file($file) || !is_readable($file)) {
      throw new \RuntimeException('PHP cannot read the file that key_file names.');
    }
    if (str_starts_with($file, realpath($this->root) . '/')) {
      throw new \RuntimeException('key_file lies below the web root, from where a server may give it to anybody.');
    }
    if ((fileperms($file) & self::REFUSED_MODE) !== 0) {
      throw new \RuntimeException('Others may read or write key_file: its mode has to be 0600 or 0640.');
    }
    $content = filesize($file) > self::LARGEST_FILE ? NULL : json_decode((string) file_get_contents($file), TRUE);
    $is_key = is_string($content['kid'] ?? NULL) && is_string($content['private_key'] ?? NULL) && is_array($content['keys'] ?? NULL);
    if (!$is_key || array_filter($content['keys'], 'is_array') !== $content['keys']) {
      throw new \RuntimeException('key_file has no key: make one by `quoin drupal-key`.');
    }
    return $content;
  }

  /**
   * The file that settings.php names; empty if it names none.
   */
  private function file(): string {
    return (string) ($this->settings->get('quoin', [])['key_file'] ?? '');
  }

}
