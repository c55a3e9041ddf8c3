import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  ContextConfigDefault,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod
} from 'fastify'

type Method<Schema extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  RouteGenericInterface,
  ContextConfigDefault,
  Schema,
  TypeBoxTypeProvider
>

/**
 * What the schema's responses hold. Fastify allows `void` everywhere; here a handler answers
 * nothing only where the schema has 304.
 */
type Reply<Schema extends FastifySchema> =
  | Exclude<ReturnType<Method<Schema>>, void | Promise<unknown>>
  | (Schema['response'] extends { 304: unknown } ? void : never)

/**
 * A handler that stands beside its route's schema: it reads what the schema lets in, and answers
 * what the schema names. The route checks it against its own schema once more, on an instance
 * `withTypeProvider<TypeBoxTypeProvider>()`.
 */
export type Handler<Schema extends FastifySchema> = (
  this: ThisParameterType<Method<Schema>>,
  ...args: Parameters<Method<Schema>>
) => Promise<Reply<Schema>>
