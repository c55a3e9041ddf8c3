import t, { type Test } from 'tap'
import { jwkOf, pairs } from '../../../test/auth/fixtures.ts'
import { serving } from '../../../test/fixtures/loopback.ts'
import { checkIssuer } from '../doctor/issuer.ts'
import { line } from '../diagnosis.ts'

async function found(t: Test, status: number, body: string): Promise<string> {
  return foundAt(await serving(t, (_request, response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body)))
}

async function foundAt(url: string): Promise<string> {
  return line(await checkIssuer(`${url}/jwks`)).replace(url, 'URL')
}

t.test("an issuer's keys are counted", async (t) => {
  t.equal(await found(t, 200, JSON.stringify({ keys: [jwkOf(pairs.ES256), jwkOf(pairs.EdDSA)] })), 'ok   issuer: keys at URL/jwks: 2')
})

t.test('keys that cannot be fetched are one line that says what to do', async (t) => {
  const fails = (reason: string) =>
    `!    issuer: its keys cannot be fetched from URL/jwks (${reason}): correct AUTH_KEYS, or check the network from here`
  t.equal(await found(t, 404, '{}'), fails('the issuer answered 404 when asked for its keys'))
  t.equal(await found(t, 200, '<html>'), fails('the issuer answered with something that is not JSON when asked for its keys'))
  t.equal(await found(t, 200, '{"jwks":[]}'), fails('the issuer answered without keys'))
  t.equal(await found(t, 200, '{"keys":[]}'), '!    issuer: there are no keys at URL/jwks: correct AUTH_KEYS')
  t.equal(await found(t, 200, `{"keys":[${' '.repeat(1024 * 1024)}]}`), fails('the issuer answered with more than 1024 KiB of keys'))
  t.equal(
    await foundAt(await serving(t, ({ socket }) => socket.destroy())),
    fails('other side closed; a port that speaks HTTPS does this when the setting begins with http://')
  )
})
