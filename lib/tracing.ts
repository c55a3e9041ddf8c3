import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes
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
import type { ObservedCall, CallObserver } from './observe.ts'

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
  /** Goes before the one in OTEL_RESOURCE_ATTRIBUTES. */
  serviceName?: string
  serviceVersion: string
  warn: (error: Error) => void
}

/** The span of one request. */
export interface RequestSpan {
  /** A child span, of a call. The CMS learns of it by W3C Trace Context. */
  call(call: ObservedCall): CallObserver
  /** @param failure the code of the failure, of an answer of 500 and above */
  end(status: number | undefined, failure: string | undefined): void
}

export interface Tracing {
  /**
   * Begins the span of a request, below that of its caller if the header fields say so (W3C Trace
   * Context).
   */
  request(headers: IncomingHttpHeaders, name: string, attributes: Attributes): RequestSpan
  /** Sends what has not been sent. */
  close(): Promise<void>
}

/**
 * Traces, sent to a collector in batches. What the caller decided about sampling holds; without a
 * caller's decision every request is traced. Attributes are named as OpenTelemetry's semantic
 * conventions for HTTP and databases have it.
 */
export function createTracing({
  url,
  headers,
  serviceName,
  serviceVersion,
  warn
}: TracingOptions): Tracing {
  const propagator = new W3CTraceContextPropagator()
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'quoin', 'service.version': serviceVersion }))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
      .merge(resourceFromAttributes({ 'service.name': serviceName })),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: warningOfFailure(
          new OTLPTraceExporter({ url, headers: parseKeyPairsIntoRecord(headers) }),
          warn
        )
      })
    ]
  })
  const tracer = provider.getTracer('quoin', serviceVersion)

  function request(
    headers: IncomingHttpHeaders,
    name: string,
    attributes: Attributes
  ): RequestSpan {
    const caller = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, caller)
    const context = trace.setSpan(caller, span)

    function call({ to, operation, path }: ObservedCall): CallObserver {
      const attributes: Attributes =
        to === 'cms'
          ? { 'peer.service': to, 'http.request.method': operation, 'url.path': path }
          : { 'peer.service': to, 'db.system.name': 'aws.dynamodb', 'db.operation.name': operation }
      const child = tracer.startSpan(
        `${to} ${operation}`,
        { kind: SpanKind.CLIENT, attributes },
        context
      )
      const headers = {}
      if (to === 'cms') {
        propagator.inject(trace.setSpan(context, child), headers, defaultTextMapSetter)
      }
      return {
        headers,
        end(outcome, status) {
          if (status !== undefined) child.setAttribute('http.response.status_code', status)
          if (!SUCCEEDED.has(outcome)) {
            child.setAttribute('error.type', outcome).setStatus({ code: SpanStatusCode.ERROR })
          }
          child.end()
        }
      }
    }

    function end(status: number | undefined, failure: string | undefined): void {
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (failure !== undefined) {
        span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    }

    return { call, end }
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

/** Outcomes that do not count as a failed call. An unmet condition is an answer of the store. */
const SUCCEEDED = new Set(['ok', 'condition', '2xx', '3xx'])

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
