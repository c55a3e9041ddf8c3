import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  ContextConfigDefault, FastifySchema, RawReplyDefaultExpression, RawRequestDefaultExpression, RawServerDefault, RouteGenericInterface, RouteHandlerMethod
} from 'fastify'

/**
 * A handler that stands beside its route's schema: it reads what the schema lets in, and answers what the schema names.
 * The route checks it against its own schema once more, on an instance `withTypeProvider<TypeBoxTypeProvider>()`.
 */
export type Handler<Schema extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault, RawRequestDefaultExpression, RawReplyDefaultExpression, RouteGenericInterface, ContextConfigDefault, Schema, TypeBoxTypeProvider
>
