/** What has been found out and may be forgotten: beyond so many entries the oldest makes room. */
export interface Memory<Value> {
  get (key: string): Value | undefined
  set (key: string, value: Value): void
}

/** @param most how many entries are kept */
export function createMemory<Value> (most: number): Memory<Value> {
  const entries = new Map<string, Value>()
  return {
    get: (key) => entries.get(key),
    set (key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > most) entries.delete(entries.keys().next().value!)
    }
  }
}
