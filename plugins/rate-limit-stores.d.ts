interface Count {
  current: number
  ttl: number
}

interface Store {
  incr(
    key: string,
    done: (error: Error | null, count: Count | null) => void,
    timeWindow: number,
    max: number
  ): void
}

declare module '@fastify/rate-limit/store/LocalStore.js' {
  export default class LocalStore implements Store {
    constructor(continueExceeding: boolean, exponentialBackoff: boolean, cache: number)
    incr: Store['incr']
  }
}

declare module '@fastify/rate-limit/store/RedisStore.js' {
  export default class RedisStore implements Store {
    constructor(
      continueExceeding: boolean,
      exponentialBackoff: boolean,
      redis: import('ioredis').Redis,
      nameSpace: string
    )
    incr: Store['incr']
  }
}
