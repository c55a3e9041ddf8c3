import { Type, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { httpUrl } from './setting.ts'

/** @param allowed which values it takes, as the message about a wrong one says it */
function variable<T extends TSchema>(schema: T, allowed: string): T & { allowed: string } {
  return Object.assign(schema, { allowed })
}

/**
 * OpenTelemetry's own variables, with OpenTelemetry's meaning: what sets them, such as its operator
 * for Kubernetes, sets them for every service. OTEL_RESOURCE_ATTRIBUTES (config/service.ts) and
 * OTEL_EXPORTER_OTLP_TIMEOUT (its exporter) count too. docs/settings.md names them.
 * @internal
 */
export const TelemetryEnvironment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: variable(
    Type.Optional(httpUrl()),
    'where a collector takes OTLP over HTTP, such as http://127.0.0.1:4318'
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: variable(
    Type.Optional(httpUrl()),
    'the URL that takes traces, such as http://127.0.0.1:4318/v1/traces'
  ),
  OTEL_EXPORTER_OTLP_HEADERS: variable(
    Type.Optional(
      Type.String({
        pattern:
          "^\\s*[\\w!#$%&'*+.^`|~-]+\\s*=[\\x20-\\x2b\\x2d-\\x7e]*(?:,\\s*[\\w!#$%&'*+.^`|~-]+\\s*=[\\x20-\\x2b\\x2d-\\x7e]*)*$"
      })
    ),
    'header fields as name=value, separated by commas, such as api-key=secret; other letters percent-encoded'
  ),
  OTEL_SERVICE_NAME: variable(
    Type.Optional(Type.String({ minLength: 1 })),
    'the name of this service in logs and traces'
  )
}

/** Source: OpenTelemetry Protocol Exporter, "Endpoint URLs for OTLP/HTTP". */
export function tracesOf({
  OTEL_EXPORTER_OTLP_ENDPOINT: base,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
  OTEL_EXPORTER_OTLP_HEADERS: headers
}: Static<TObject<typeof TelemetryEnvironment>>): {
  traces?: { url: string; headers?: string }
} {
  const url = own ?? (base && `${base.replace(/\/$/, '')}/v1/traces`)
  return url === undefined ? {} : { traces: { url, ...(headers !== undefined && { headers }) } }
}
