import { isObject } from '../../drupal/document.ts'

/** The longest decimal: MySQL has 65 digits, and nobody's are longer. */
const LENGTH_MAX = 100

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/

/**
 * The value of a decimal field without the zeros that do not count. Drupal answers a save with a
 * rounded decimal ("2.5"), and a read with the one that the database pads (MySQL and PostgreSQL:
 * "2.50"). Only the field's type tells that a text is a decimal: the title "3.10" is not "3.1".
 * Source: Drupal\Core\Field\Plugin\Field\FieldType\DecimalItem::preSave().
 * @param value of one item or several, each a bare text or an object with it
 */
export function withoutPadding(value: unknown): unknown {
  if (typeof value === 'string') return shortest(value)
  if (Array.isArray(value)) return value.map(withoutPadding)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [
      name,
      typeof text === 'string' ? shortest(text) : text
    ])
  )
}

/** The shortest way to write a decimal. Any other text stays as it is. */
function shortest(text: string): string {
  const [, sign, whole = '', fraction = ''] =
    (text.length <= LENGTH_MAX && DECIMAL.exec(text)) || []
  if (whole + fraction === '') return text
  const digits = whole.replace(/^0+/, '') || '0'
  const rest = fraction.replace(/0+$/, '')
  const isZero = digits === '0' && rest === ''
  return `${sign === '-' && !isZero ? '-' : ''}${digits}${rest && `.${rest}`}`
}
