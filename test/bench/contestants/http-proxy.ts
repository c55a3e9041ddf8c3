import httpProxy from '@fastify/http-proxy'
import Fastify from 'fastify'

// The CMS behind a proxy that translates nothing.

const fastify = Fastify()
await fastify.register(httpProxy, { upstream: process.env['CMS_URL']! })
process.send!({ url: await fastify.listen({ host: '127.0.0.1', port: 0 }) })
