import { wrong, type Diagnosis } from '../diagnosis.ts'
import { transportReason } from '../../../lib/http/transport-reason.ts'
import { commandFor } from '../../../lib/package-root.ts'

const POLICY = 'give it the policies of config/aws/quoin.yaml'

// The names that AWS refuses credentials under (API reference of DynamoDB, "Common errors").
const REFUSED = new Set([
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException'
])

/**
 * What an operator should do about an error of DynamoDB or on the way to it.
 * @param what the operation that failed
 */
export function advice(what: string, { name, message, cause }: Error): Diagnosis {
  if (name === 'CredentialsProviderError') {
    return wrong(
      `${what}: there are no AWS credentials`,
      'set AWS_PROFILE, or AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or run where AWS gives a role'
    )
  }
  // Its message may repeat what was signed.
  if (REFUSED.has(name)) {
    return wrong(
      `${what}: AWS refuses the credentials (${name})`,
      "renew or correct them, and see whether this machine's clock is right"
    )
  }
  if (name === 'AccessDeniedException') return wrong(`${what}: ${message}`, POLICY)
  if (name === 'ResourceNotFoundException') return noSuchTable(what)
  if (name === 'TimeoutError') {
    const reason = cause instanceof Error ? ` (${transportReason(cause)})` : ''
    return wrong(
      `${what}: there was no answer${reason}`,
      'correct AWS_REGION or DYNAMODB_ENDPOINT, or check the network from here'
    )
  }
  return wrong(`${what}: ${name}`, message)
}

export function noSuchTable(what: string): Diagnosis {
  return wrong(
    `${what}: there is no such table`,
    `make it with ${commandFor('table')}, or correct DATA_STATE_TABLE and AWS_REGION`
  )
}

/** Why a service of AWS stays unchecked on an engine that is not AWS's own. */
export const NOT_NEEDED = 'this engine has none, and does not need it'

/**
 * Whether an error says that the engine does not know the operation, as engines that are not AWS's
 * own.
 */
export function isUnknownOperation(error: unknown): boolean {
  return (error as Error).name === 'UnknownOperationException'
}
