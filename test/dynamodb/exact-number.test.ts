import { convertToAttr } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import { ExactNumber, numberOf } from '#lib/table/exact-number.ts'

t.test("a number is JavaScript's where that is the same, and else stays as it was read", async (t) => {
  const same = [
    '0',
    '7',
    '-7',
    '1.5',
    '9007199254740991',
    '-9007199254740991',
    '0.1',
    '1e-130',
    '1E-130',
    '100000000000000',
    '1795231799.778',
    '0.30000000000000004',
    `-0.${'0'.repeat(129)}10000000000004001`,
    '1.50',
    '1.0000000000004001E-130'
  ]
  for (const text of same) t.equal(numberOf(text), Number(text), text)
  const others = [
    '9007199254740992',
    '9007199254740993',
    '-9007199254740992',
    '100000000000000000000',
    '1E+20',
    '0.12345678901234567890123',
    `0.${'1'.repeat(38)}`,
    '9.9999999999999999999999999999999999999E+125'
  ]
  for (const text of others) {
    const number = numberOf(text)
    t.type(number, ExactNumber, text)
    t.strictSame(convertToAttr(number), { N: text }, 'it is stored as it was')
    t.equal(JSON.stringify([number]), JSON.stringify([Number(text)]), 'and shown as the nearest number')
  }
})
