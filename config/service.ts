import { QUOIN_VERSION } from '../lib/package-root.ts'

/** What logs and traces say of this service. */
export interface ServiceConfig {
  name: string
  version: string
  /** Where it runs, such as `production`. */
  environment: string
}

/**
 * Reads what logs and traces say of this service. OTEL_SERVICE_NAME has precedence over
 * OTEL_RESOURCE_ATTRIBUTES, which has precedence over what Quoin knows.
 * Source: OpenTelemetry, "Resource SDK" (environment variables), and the semantic conventions of
 * services and deployments.
 * @param attributes the value of OTEL_RESOURCE_ATTRIBUTES
 */
export function readService(
  { OTEL_SERVICE_NAME, ENVIRONMENT }: { OTEL_SERVICE_NAME?: string; ENVIRONMENT: string },
  attributes: string | undefined
): ServiceConfig {
  const given = attributesIn(attributes)
  return {
    name: OTEL_SERVICE_NAME ?? given.get('service.name') ?? 'quoin',
    version: given.get('service.version') ?? QUOIN_VERSION,
    environment: given.get('deployment.environment.name') ?? ENVIRONMENT
  }
}

/** The fields of each log line, as the conventions name them. */
export function serviceFields({ name, version, environment }: ServiceConfig): object {
  return {
    'service.name': name,
    'service.version': version,
    'deployment.environment.name': environment
  }
}

/** Attributes as `name=value`, separated by commas, percent-encoded. Where one is not, none counts. */
function attributesIn(text: string | undefined): Map<string, string> {
  const pairs = (text ?? '').split(',').map((pair) => /^([^=]+)=(.+)$/.exec(pair.trim()))
  try {
    return new Map(
      pairs.flatMap((pair) =>
        pair ? [[decodeURIComponent(pair[1]!.trim()), decodeURIComponent(pair[2]!.trim())]] : []
      )
    )
  } catch {
    return new Map()
  }
}
