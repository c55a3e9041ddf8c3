import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { drupalKey, renewKey } from '../drupal-key.ts'
import { emptyDirectory } from '../../../test/app/fixtures/processes.ts'

const MINUTE = 60_000

t.test('a new key is published beside those whose tokens are not over', async (t) => {
  const directory = emptyDirectory(t)
  const file = join(directory, 'key.json')
  const content = () => JSON.parse(readFileSync(file, 'utf8'))
  t.match(await renewKey(file, 0), `${file} has a key.`)
  const first = content()
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.strictSame(Object.keys(first.keys[0]).toSorted(), ['alg', 'e', 'kid', 'kty', 'n', 'use'], 'the private key is not among them')
  t.equal(first.kid, first.keys[0].kid)
  const own = createPublicKey(createPrivateKey(first.private_key))
  t.ok(own.equals(createPublicKey({ key: first.keys[0], format: 'jwk' })))

  t.match(await renewKey(file, MINUTE), `${file} has a new key. The one before it is published for 10 minutes more`)
  const second = content()
  t.not(second.kid, first.kid)
  t.strictSame(second.keys.slice(1), [{ ...first.keys[0], expires: 11 * 60 }])
  await renewKey(file, 2 * MINUTE)
  t.strictSame(
    content().keys.map(({ expires }: { expires?: number }) => expires),
    [undefined, 12 * 60, 11 * 60]
  )
  await renewKey(file, 12 * MINUTE)
  t.equal(content().keys.length, 2, 'two keys are over')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.strictSame(readdirSync(directory), ['key.json'])
})

t.test('a file with something else is left as it is', async (t) => {
  const directory = emptyDirectory(t)
  const file = join(directory, 'settings.php')
  for (const text of ['<?php', 'null', '{"keys":1}', '']) {
    writeFileSync(file, text)
    await t.rejects(renewKey(file, 0), /has something else than a key of Quoin's/)
    t.equal(readFileSync(file, 'utf8'), text)
  }
  await t.rejects(renewKey(directory, 0), { code: 'EISDIR' })
  await t.rejects(renewKey(join(directory, 'none', 'key.json'), 0), { code: 'ENOENT' })
  t.strictSame(readdirSync(directory), ['settings.php'])
})

t.test('the command says what it did, or what to name', async (t) => {
  const file = join(emptyDirectory(t), 'key.json')
  const said = t.capture(console, 'log')
  const failed = t.capture(console, 'error')
  t.teardown(() => {
    process.exitCode = undefined
  })
  await drupalKey([file])
  t.match(said().at(-1)?.args, [`${file} has a key.`])
  t.equal(process.exitCode, undefined)
  for (const args of [[], ['--help'], [file, file]]) {
    await drupalKey(args)
    t.match(failed().at(-1)?.args, ['Quoin made no key. Name one file for the key: quoin drupal-key'])
    t.equal(process.exitCode, 1)
  }
})
