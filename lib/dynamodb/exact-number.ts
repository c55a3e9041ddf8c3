import { NumberValueImpl } from '@aws-sdk/util-dynamodb'

/** Every decimal number of so many digits is the nearest one to a number of JavaScript's, and comes back as it was. */
const SIGNIFICANT_DIGITS = 15

/** A number of the table that JavaScript does not hold. It is stored and compared as it was read; as JSON it is the nearest number. */
export class ExactNumber extends NumberValueImpl {
  toJSON (): number {
    return Number(this.toString())
  }
}

/** A number as the table answers it. Those of other programs have up to 38 digits. */
export function numberOf (text: string): number | ExactNumber {
  const number = Number(text)
  const isSame = String(number) === text || significantDigits(text) <= SIGNIFICANT_DIGITS
  return isSame && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : new ExactNumber(text)
}

/** Whether a value of an item is a number. */
export function isNumber (value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

function significantDigits (text: string): number {
  return text.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+|0+$/g, '').length
}
