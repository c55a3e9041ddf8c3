import hooks, { type HookCallbacks } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

// tap follows each promise and each callback to the test that it began in (async-hook-domain), so that an error that nobody
// catches fails that test. That takes a seventh of the CPU time of these files. Without it such an error ends the process, as
// Node does it, and so fails the whole file; Node prints the stack.
const { createHook } = hooks
hooks.createHook = (callbacks: HookCallbacks) => {
  const isOfDomains = /[\\/]async-hook-domain[\\/]/.test(new Error().stack!)
  return createHook(isOfDomains ? {} : callbacks)
}
syncBuiltinESMExports()
