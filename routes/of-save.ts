/** The header fields of an answer to a save. @param isShared whether it had its turn among all instances */
export function ofSave (etag: string, isShared: boolean): Record<string, string> {
  return isShared ? { etag } : { etag, 'edition-turn': 'instance' }
}
