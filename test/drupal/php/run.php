<?php

/**
 * @file
 * Runs the PHP code of standard input as user 1 in the site of the working
 * folder. What the code returns is printed as JSON.
 */

use Drupal\Core\DrupalKernel;
use Drupal\user\Entity\User;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\Session\Session;
use Symfony\Component\HttpFoundation\Session\Storage\MockArraySessionStorage;

$loader = require getcwd() . '/autoload.php';

(function () use ($loader) {
  $request = Request::create(getenv('SITE_URL') ?: 'http://127.0.0.1/', 'GET', [], [], [], ['SCRIPT_NAME' => '/index.php', 'SCRIPT_FILENAME' => getcwd() . '/index.php']);
  $request->setSession(new Session(new MockArraySessionStorage()));
  $kernel = DrupalKernel::createFromRequest($request, $loader, 'prod');
  $kernel->boot();
  $kernel->preHandle($request);
  $kernel->getContainer()->get('request_stack')->push($request);
  \Drupal::currentUser()->setAccount(User::load(1));
  $result = eval(stream_get_contents(STDIN));
  if ($result !== NULL) {
    echo json_encode($result, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
  }
  // Caches and key-value stores are written when the kernel ends.
  $kernel->terminate($request, new Response());
})();
