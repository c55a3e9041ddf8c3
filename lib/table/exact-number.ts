import { NumberValueImpl } from '@aws-sdk/util-dynamodb'

/**
 * A number of the table that JavaScript does not hold. It is stored and compared as it was read; as
 * JSON it is the nearest number.
 */
export class ExactNumber extends NumberValueImpl {
  toJSON(): number {
    return Number(this.toString())
  }
}

/** A number as the table answers it. Those of other programs have up to 38 digits. */
export function numberOf(text: string): number | ExactNumber {
  const number = Number(text)
  const isSame =
    String(number) === text || significantDigits(String(number)) === significantDigits(text)
  return isSame && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : new ExactNumber(text)
}

/** Whether a value of an item is a number. */
export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

/** Two numbers that are about the same are the same if these are. */
function significantDigits(text: string): string {
  return text
    .replace(/e.*$/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '')
}
