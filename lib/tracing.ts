import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Span,
  type SpanOptions
} from '@opentelemetry/api'
import {
  ExportResultCode,
  parseKeyPairsIntoRecord,
  W3CTraceContextPropagator
} from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes
} from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import type {
  CallObserver,
  CallResult,
  ObservedCall,
  ObservedOperation,
  ObservedRequest
} from './observe.ts'

/** How long the end of the process waits for the last spans to be taken, in milliseconds. */
const FLUSH_MS = 2000

export interface TracingOptions {
  /** What takes OTLP over HTTP, in protobuf. */
  url: string
  /**
   * The header fields of each request to it, as OTEL_EXPORTER_OTLP_HEADERS has them: `name=value`,
   * separated by commas.
   */
  headers?: string
  /** Has precedence over OTEL_RESOURCE_ATTRIBUTES. */
  service: { name: string; version: string; environment: string }
  warn: (error: Error) => void
}

/** A request, as its span tells of it: nothing of its query, its header fields or its caller. */
export interface TracedRequest {
  method: string
  /** The pattern of its route, if there is one. */
  route: string | undefined
  path: string
  scheme: string
  /** Where it was sent to, such as `https://quoin.example.org`. Whoever sends it may write anything. */
  origin: string
  /** Of HTTP, such as `1.1`. */
  version: string
  /** Its X-Request-Id. */
  id: string
}

/** What a log line of a traced request has, as OpenTelemetry names it. */
export interface TraceFields {
  trace_id: string
  span_id: string
  trace_flags: string
}

/** The span of one request. */
export interface RequestSpan {
  /**
   * For the log. Source: OpenTelemetry, "Trace Context in non-OTLP Log Formats", JSON formats.
   */
  fields: TraceFields
  /** A child span, of a call. The CMS learns of it by W3C Trace Context. */
  call(call: ObservedCall): CallObserver
  /**
   * @param failure the code of the failure, of an answer of 500 and above, or that the caller has
   *   gone before the end of the answer
   */
  end(status: number | undefined, failure: string | undefined): void
}

export interface Tracing {
  /**
   * Begins the span of a request, below that of its caller if the header fields say so (W3C Trace
   * Context).
   */
  request(headers: IncomingHttpHeaders, request: TracedRequest): RequestSpan
  /** Sends what has not been sent. */
  close(): Promise<void>
}

/**
 * Traces, sent to a collector in batches. What the caller decided about sampling holds; without a
 * caller's decision every request is traced. Names, attributes and statuses are those of
 * OpenTelemetry's semantic conventions for HTTP spans and database client spans, of version 1.45.
 * Queries (`url.query`) and whatever tells of the caller (`client.address`, `user_agent.original`)
 * are left out: they may hold what nobody but the caller should know.
 */
export function createTracing({ url, headers, service, warn }: TracingOptions): Tracing {
  const propagator = new W3CTraceContextPropagator()
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
      .merge(
        resourceFromAttributes({
          'service.name': service.name,
          'service.version': service.version,
          'deployment.environment.name': service.environment
        })
      ),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: warningOfFailure(
          new OTLPTraceExporter({ url, headers: parseKeyPairsIntoRecord(headers) }),
          warn
        )
      })
    ]
  })
  const tracer = provider.getTracer('quoin', service.version)

  function request(headers: IncomingHttpHeaders, request: TracedRequest): RequestSpan {
    const caller = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
    const span = tracer.startSpan(
      nameOf(request),
      { kind: SpanKind.SERVER, attributes: serverAttributes(request) },
      caller
    )
    const context = trace.setSpan(caller, span)

    function call(call: ObservedCall): CallObserver {
      const child = tracer.startSpan(...clientSpan(call), context)
      const headers = {}
      if (call.to === 'cms') {
        propagator.inject(trace.setSpan(context, child), headers, defaultTextMapSetter)
      }
      return { headers, end: (outcome, result) => endCall(child, outcome, result) }
    }

    function end(status: number | undefined, failure: string | undefined): void {
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (failure !== undefined) {
        span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    }

    return { fields: fieldsOf(span), call, end }
  }

  async function close(): Promise<void> {
    // Its failure has been told of already.
    await Promise.race([
      provider.shutdown().catch(() => {}),
      sleep(FLUSH_MS, undefined, { ref: false })
    ])
  }

  return { request, close }
}

/** The methods that the conventions know. Another may have any name, which would be a name more. */
const METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE'
])

/** No name of a host is longer, in characters; what is longer is left out. */
const ORIGIN_MAX = 300

function nameOf({ method, route }: TracedRequest): string {
  const name = METHODS.has(method) ? method : 'HTTP'
  return route === undefined ? name : `${name} ${route}`
}

function serverAttributes(request: TracedRequest): Attributes {
  const { method, route, origin } = request
  return {
    ...(METHODS.has(method)
      ? { 'http.request.method': method }
      : { 'http.request.method': '_OTHER', 'http.request.method_original': method }),
    'http.request.header.x-request-id': [request.id],
    ...(route !== undefined && { 'http.route': route }),
    'url.scheme': request.scheme,
    'url.path': request.path,
    ...(origin.length <= ORIGIN_MAX && URL.canParse(origin) && serverOf(origin)),
    'network.protocol.version': request.version
  }
}

/** The name and the options of the span of a call. */
function clientSpan(call: ObservedCall): [name: string, options: SpanOptions] {
  const kind = SpanKind.CLIENT
  return call.to === 'cms'
    ? [call.operation, { kind, attributes: cmsAttributes(call) }]
    : [`${call.operation} ${call.table}`, { kind, attributes: storeAttributes(call) }]
}

function cmsAttributes({ to, operation, url, isRetry }: ObservedRequest): Attributes {
  return {
    'peer.service': to,
    'http.request.method': operation,
    ...serverOf(url),
    'url.full': url,
    ...(isRetry && { 'http.request.resend_count': 1 })
  }
}

/** DynamoDB has no `db.namespace`. */
function storeAttributes({ to, operation, table }: ObservedOperation): Attributes {
  return {
    'peer.service': to,
    'db.system.name': 'aws.dynamodb',
    'db.operation.name': operation,
    'db.collection.name': table
  }
}

function serverOf(url: string): Attributes {
  const { protocol, hostname, port } = new URL(url)
  return {
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  }
}

/** Outcomes that do not count as a failed call. An unmet condition is an answer of the store. */
const SUCCEEDED = new Set(['ok', 'condition', '2xx', '3xx'])

/**
 * `error.type` is the status, DynamoDB's or the SDK's name of the error, or the code of the
 * failure.
 */
function endCall(span: Span, outcome: string, { status, origin, error }: CallResult = {}): void {
  if (status !== undefined) span.setAttribute('http.response.status_code', status)
  if (origin !== undefined) span.setAttributes(serverOf(origin))
  if (!SUCCEEDED.has(outcome)) {
    const type = status === undefined ? (error ?? outcome) : String(status)
    span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
  }
  // AWS's own names end so; others are of the way there.
  if (error?.endsWith('Exception')) span.setAttribute('db.response.status_code', error)
  span.end()
}

function fieldsOf(span: Span): TraceFields {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    trace_id: traceId,
    span_id: spanId,
    trace_flags: traceFlags.toString(16).padStart(2, '0')
  }
}

/** An exporter that says when it begins to fail; OpenTelemetry's own keeps silent. */
function warningOfFailure(exporter: SpanExporter, warn: (error: Error) => void): SpanExporter {
  let hasFailed = false
  return {
    export(spans, callback) {
      exporter.export(spans, (result) => {
        const isFailure = result.code === ExportResultCode.FAILED
        if (isFailure && !hasFailed) warn(result.error!)
        hasFailed = isFailure
        callback(result)
      })
    },
    shutdown: () => exporter.shutdown()
  }
}
