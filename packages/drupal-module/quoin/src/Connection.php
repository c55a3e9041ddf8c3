<?php

declare(strict_types=1);

namespace Drupal\quoin;

use Drupal\Component\Serialization\Json;
use Drupal\Core\Session\AccountInterface;
use Drupal\Core\Site\Settings;
use GuzzleHttp\ClientInterface;
use GuzzleHttp\Exception\GuzzleException;
use GuzzleHttp\Psr7\DroppingStream;
use GuzzleHttp\Psr7\Utils;

/**
 * Sends signed requests to Quoin.
 */
final class Connection {

  /**
   * How many bytes of an answer are read.
   */
  private const ANSWER_BYTES = 1048576;

  /**
   * How much of an answer is quoted in the log, in characters.
   */
  private const QUOTED_CHARACTERS = 200;

  public function __construct(
    private readonly ClientInterface $client,
    private readonly Settings $settings,
    private readonly SignedTokens $tokens,
    private readonly AccountInterface $account,
  ) {}

  /**
   * Whether settings.php says where Quoin is, and by what to sign.
   */
  public function isConfigured(): bool {
    return $this->url() !== '' && $this->tokens->hasSecret();
  }

  /**
   * Sends one request, once.
   *
   * @param string $path
   *   The path below Quoin's address.
   * @param array $content
   *   The body.
   * @param float $seconds
   *   How long all of it may take.
   *
   * @return array
   *   The answer.
   *
   * @throws \Drupal\quoin\QuoinException
   *   Where Quoin is away, too slow, or answers with something else.
   */
  public function post(string $path, array $content, float $seconds): array {
    // Texts may have bytes that are no UTF-8, such as a label of a module.
    $body = json_encode($content, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
    try {
      $response = $this->client->request('POST', $this->url() . $path, [
        'body' => $body,
        'headers' => [
          'Authorization' => 'Bearer ' . $this->tokens->forRequest($body, (string) $this->account->id()),
          'Content-Type' => 'application/json',
          'Accept' => 'application/json',
        ],
        'timeout' => $seconds,
        'connect_timeout' => $seconds,
        'http_errors' => FALSE,
        'allow_redirects' => FALSE,
        'sink' => new DroppingStream(Utils::streamFor(''), self::ANSWER_BYTES),
      ]);
    }
    catch (GuzzleException $exception) {
      throw new QuoinException($exception->getMessage(), 0, $exception);
    }
    $text = (string) $response->getBody();
    $answer = Json::decode($text);
    if ($response->getStatusCode() === 200 && is_array($answer)) {
      return $answer;
    }
    $quoted = mb_substr(mb_scrub($text), 0, self::QUOTED_CHARACTERS);
    throw new QuoinException(sprintf('it answered %d: %s', $response->getStatusCode(), $quoted), $response->getStatusCode());
  }

  /**
   * The address at which PHP reaches Quoin, without a slash at the end.
   */
  private function url(): string {
    $url = $this->settings->get('quoin', [])['url'] ?? '';
    return is_string($url) ? rtrim($url, '/') : '';
  }

}
