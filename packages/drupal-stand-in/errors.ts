/**
 * One failed constraint of a write: the dotted path that Drupal reports, its message, and its JSON
 * pointer.
 */
export interface Violation {
  path: string
  message: string
  pointer: string
}

interface ErrorOptions {
  pointer?: string | undefined
  headers?: Record<string, string>
  /** The address of `links.info`, when it is not the section of the status. */
  info?: string
  violations?: Violation[]
  /** The code of the exception. */
  code?: string
}

/** An answer other than the asked one: status, detail, and where the request went wrong. */
export class CmsError extends Error {
  status: number
  pointer: string | undefined
  headers: Record<string, string>
  violations: Violation[]
  info: string | undefined
  code: string | undefined

  constructor(status: number, detail: string, details: ErrorOptions = {}) {
    super(detail)
    this.status = status
    this.pointer = details.pointer
    this.headers = details.headers ?? {}
    this.violations = details.violations ?? []
    this.info = details.info
    this.code = details.code
  }
}

const rfc2616 = 'http://www.w3.org/Protocols/rfc2616/rfc2616-sec10.html#sec10.'

const kinds: Record<number, { title: string; section?: string }> = {
  400: { title: 'Bad Request', section: '4.1' },
  401: { title: 'Unauthorized', section: '4.2' },
  403: { title: 'Forbidden', section: '4.4' },
  404: { title: 'Not Found', section: '4.5' },
  405: { title: 'Method Not Allowed', section: '4.6' },
  406: { title: 'Not Acceptable', section: '4.7' },
  409: { title: 'Conflict', section: '4.10' },
  412: { title: 'Precondition Failed', section: '4.13' },
  415: { title: 'Unsupported Media Type', section: '4.16' },
  422: { title: 'Unprocessable Content' },
  500: { title: 'Internal Server Error', section: '5.1' },
  501: { title: 'Not Implemented', section: '5.2' },
  503: { title: 'Service Unavailable', section: '5.4' }
}

/** The `message` of core REST: the detail, and for a failed validation one line per violation. */
export const restMessage = ({ message, violations }: CmsError): string =>
  violations.length === 0
    ? message
    : `${message}\n${violations.map((one) => `${one.path}: ${one.message}\n`).join('')}`

/**
 * The `errors` member of a JSON:API answer: one object per violation without links, or a single one
 * with `links.via` and (not for 422) `links.info`, as jsonapi's HttpExceptionNormalizer and its 422
 * child build them.
 */
export function errorObjects(error: CmsError, via: string): object[] {
  const { title, section } = kinds[error.status] ?? { title: 'Error' }
  const status = String(error.status)
  if (error.violations.length > 0) {
    return error.violations.map(({ path, message, pointer }) => ({
      title,
      status,
      detail: path === '' ? message : `${path}: ${message}`,
      source: { pointer }
    }))
  }
  const info = error.info ?? (section && rfc2616 + section)
  const links = { via: { href: via }, ...(info ? { info: { href: info } } : {}) }
  return [
    {
      title,
      status,
      detail: error.message,
      links,
      ...(error.code !== undefined && { code: error.code }),
      ...(error.pointer ? { source: { pointer: error.pointer } } : {})
    }
  ]
}
