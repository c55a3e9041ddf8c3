import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import access from './app/access.ts'
import answerMemory from './app/answer-memory.ts'
import authDocs from './app/auth-docs.ts'
import auth from './app/auth.ts'
import errors from './app/errors.ts'
import jsonBody from './app/json-body.ts'
import type { MountOptions } from './app/mount.ts'
import overload from './app/overload.ts'
import requests from './app/requests.ts'
import trustedNetwork from './app/trusted-network.ts'
import validation from './app/validation.ts'
import cors from './external/cors.ts'
import openapi from './external/openapi.ts'
import rateLimits from './external/rate-limit.ts'
import traces from './external/traces.ts'
import type { Services } from './services.ts'

interface EveryRequestOptions extends MountOptions {
  services: Services
}

/** What every request passes, in the order of its hooks, and what describes the API. */
async function everyRequest(
  fastify: FastifyInstance,
  { config, ownsPaths, services: { store, bus, memory, refusals } }: EveryRequestOptions
) {
  await fastify.register(traces, { config })
  await fastify.register(cors, { config })
  await fastify.register(trustedNetwork, { config })
  await fastify.register(overload)
  await fastify.register(answerMemory, { memory })
  await fastify.register(sensible)
  await fastify.register(errors)
  await fastify.register(requests, { ownsPaths })
  await fastify.register(jsonBody)
  await fastify.register(validation)
  await fastify.register(auth, { config, refusals, time: store.clock.time })
  await fastify.register(access, { config })
  await fastify.register(authDocs, { config })
  await fastify.register(rateLimits, { config, bus })
  await fastify.register(openapi, { config })
}

export default fp(everyRequest, {
  name: 'every-request',
  dependencies: ['instruments'],
  fastify: '5.x'
})
