/** What a browser stores, with room for so many letters in a text. */
export function storeOf(room = Infinity) {
  const stored = new Map<string, string>()
  return {
    get length() {
      return stored.size
    },
    key: (index: number) => [...stored.keys()][index] ?? null,
    getItem: (key: string) => stored.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > room) throw new Error('QuotaExceededError')
      stored.set(key, value)
    },
    removeItem: (key: string) => {
      stored.delete(key)
    }
  }
}
