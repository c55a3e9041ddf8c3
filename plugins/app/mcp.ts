/**
 * Loads the tools for agents and what speaks their protocol, which nothing else of the service
 * needs.
 */
export async function loadMcp() {
  return (await import('../../packages/mcp/server/mcp.ts')).default
}
