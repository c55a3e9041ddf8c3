import { Sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'
import type { HttpRequest } from '@smithy/types'
import t from 'tap'
import { createSigner } from '#lib/table/signer.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { fakeTime } from '../fixtures/time.ts'

t.test("a request is signed as the SDK's own signer does it, whatever the credentials, the time and the body are", async (t) => {
  const text = fc.string({ unit: fc.constantFrom(...'abcXYZ019/+='), minLength: 1, maxLength: 60 })
  // Not unit 'binary', which takes 0.6 s to list all characters.
  const character = fc
    .integer({ min: 0, max: 0x10ffff })
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
  const credential = fc.record(
    { accessKeyId: text, secretAccessKey: text, sessionToken: text },
    { requiredKeys: ['accessKeyId', 'secretAccessKey'] }
  )
  let current = { accessKeyId: '', secretAccessKey: '' }
  let now = 0
  const own = createSigner({ region: 'eu-central-1', credentials: async () => current, time: fakeTime({ now: () => now }) })
  let compared = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(credential, { minLength: 1, maxLength: 2 }),
      fc.array(
        fc.record({
          which: fc.nat(1),
          signingDate: fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
          body: fc.string({ unit: character }),
          port: fc.option(fc.nat(65535), { nil: undefined })
        }),
        { minLength: 1, maxLength: 4 }
      ),
      async (credentials, requests) => {
        for (const { which, signingDate, body, port } of requests) {
          current = credentials[which % credentials.length]!
          now = signingDate.getTime()
          const request = () =>
            ({
              method: 'POST',
              protocol: 'https:',
              hostname: 'dynamodb.eu-central-1.amazonaws.com',
              path: '/',
              query: {},
              body,
              ...(port !== undefined && { port }),
              headers: {
                'content-type': 'application/x-amz-json-1.0',
                'x-amz-target': 'DynamoDB_20120810.PutItem',
                host: `dynamodb${port ? `:${port}` : ''}`
              }
            }) as HttpRequest
          const theirs = new SignatureV4({
            credentials: current,
            region: 'eu-central-1',
            service: 'dynamodb',
            sha256: Sha256 as never,
            applyChecksum: false
          })
          const [expected, signed] = [await theirs.sign(request(), { signingDate }), await own.sign(request())]
          compared++
          if (JSON.stringify(Object.entries(expected.headers).sort()) !== JSON.stringify(Object.entries(signed.headers).sort())) {
            return false
          }
        }
        return true
      }
    ),
    { numRuns: runs(300) }
  )
  t.ok(compared > runs(300))
})
