import { createHash, randomUUID } from 'node:crypto'
import { tokenOf } from '../auth/fixtures.ts'

/** What Quoin and its Drupal module sign by in tests. */
export const MODULE_SECRET = 'a secret for tests, without worth'.replaceAll(' ', '-')

/** The header fields of a request that Drupal's module has signed. */
export function signedBy(secret: string, body: string, more: object = {}): Record<string, string> {
  const digest = createHash('sha256').update(body).digest('base64url')
  const claims = { iss: 'drupal', aud: 'quoin', sub: '7', exp: Math.floor(Date.now() / 1000) + 30, body: digest, ...more }
  return {
    authorization: `Bearer ${tokenOf(claims, { header: { alg: 'HS256' }, signer: secret })}`,
    'content-type': 'application/json'
  }
}

/** A save that Drupal tells. */
export function outsideSave(entity: { id: string; uuid: string }, more: object = {}) {
  return {
    notice: randomUUID(),
    kind: 'update',
    type: 'publisher_container',
    bundle: 'daily',
    language: 'en',
    fields: ['title'],
    uid: '8',
    name: 'Bob',
    age: 0,
    ...entity,
    ...more
  }
}
