import { installCommandFor } from '../../lib/package-root.ts'
import { readRemote } from './stdio/remote.ts'

/** `quoin mcp`: the tools of a running Quoin for a program that speaks MCP on standard input. */
export async function mcp(): Promise<void> {
  try {
    const remote = readRemote(process.env)
    const { serveStandardInput } = await import('./stdio/serve.ts')
    const close = serveStandardInput(remote, {
      input: process.stdin,
      output: process.stdout,
      onError: ({ message }) => console.error(`quoin mcp: ${message.replace(/\s+/g, ' ')}`)
    })
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, close)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && message.includes(SDK)
    console.error(
      `quoin mcp: ${isMissing ? `the package ${SDK} is not installed. Run ${installCommandFor(SDK)}` : message}`
    )
    process.exitCode = 1
  }
}

const SDK = '@modelcontextprotocol/server'
