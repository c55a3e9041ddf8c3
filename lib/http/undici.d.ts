// Dispatchers are imported by their files: undici's index loads fetch, WebSocket and caches besides, which nothing here
// uses and which take 8 MiB of every process. `import { Agent, Pool } from 'undici'` gives the same classes.

declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici'
}

declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici'
}
