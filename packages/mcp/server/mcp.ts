import type { FastifyInstance } from 'fastify'
import type { Config } from '../../../config/env.ts'
import { openCallCounts } from './call-counts.ts'
import { mountMcp } from './mount.ts'
import { resourceOf } from './resource.ts'
import { serverFor } from './server.ts'
import type { ToolServices } from './tool.ts'
import { isGivingBack } from './tools.ts'

export interface McpOptions {
  config: Config
  services: ToolServices
}

/** The endpoint /mcp: tools for agents, by the Model Context Protocol. */
export default async function mcp(fastify: FastifyInstance, { config, services }: McpOptions) {
  const count = openCallCounts(fastify)
  mountMcp(fastify, {
    factory: (exchange) => serverFor(exchange, { config, services, count }),
    corsOrigins: config.corsOrigins,
    resource: resourceOf(config),
    isAlwaysTaken: isGivingBack
  })
}
