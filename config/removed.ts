/**
 * What was a setting before 1.0.0, and what is now in its place. A release that takes a setting away
 * adds it here, so that nobody who still sets it is left to wonder.
 */
export const REMOVED: Readonly<Record<string, string>> = {
  AGENT_LEASE_SECONDS: 'the lock of an agent holds for 120 seconds',
  AGENT_WRITES_PER_DAY: 'an agent writes 1000 times a day at most',
  AGENT_WRITES_PER_MINUTE: 'an agent writes 30 times a minute at most',
  AUTH_EDITORS: 'Drupal is asked about everybody',
  AUTH_JWKS_URL: 'AUTH_KEYS has the address of the keys',
  AUTH_LOCK_VALUE: 'AUTH_LOCK_CLAIM has both, such as scope=quoin.lock',
  AUTH_NAME_CLAIM: 'the claim name has the name of the caller, or preferred_username has it',
  AUTH_OPEN_TYPES: 'openTypes of the content model has the types',
  AUTH_PUBLIC_KEY: 'AUTH_KEYS has the path of the key',
  CMS_STALE_SECONDS: 'copies are kept for 300 seconds',
  DYNAMODB_SHORTCUT: 'Quoin finds out by itself what the engine can do',
  EVENTS_HEARTBEAT_SECONDS: 'a stream has a heartbeat every 15 seconds',
  EVENTS_WATCHERS_MAX: 'an instance serves 2000 event streams',
  EVENTS_WATCHERS_PER_USER: 'a user may have 100 event streams, with AUTH=none an address 1000',
  LOCK_FOREIGN_SECONDS: 'a lock that another program has written is free after a day with leases',
  MCP_PUBLIC_URL: 'MCP has the public address in place of on',
  METRICS_HOST: '/metrics listens where HOST says; keep METRICS_PORT from the outside',
  SHUTDOWN_GRACE_MS: 'running requests have 10000 ms to finish'
}

/** The variables that were settings and are still set, a sentence for each. */
export function removedSettings(env: Record<string, string | undefined>): string[] {
  return Object.entries(REMOVED)
    .filter(([name]) => env[name])
    .map(([name, instead]) => `${name} is no longer a setting: ${instead}`)
}
