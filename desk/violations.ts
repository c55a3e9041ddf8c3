export interface Violations {
  /** What is wrong, by field. */
  fields: Map<string, string[]>
  /** What is of no field. */
  others: string[]
}

/** What Drupal's validation says in the body of a 422: each at its field, which its path begins with. */
export function violationsIn (body: unknown, names: string[]): Violations {
  const fields = new Map<string, string[]>()
  const others: string[] = []
  const { violations = [] } = (body ?? {}) as { violations?: Array<{ path: string, message: string }> }
  for (const { path, message } of violations) {
    const [name = ''] = path.split('.')
    if (names.includes(name)) fields.set(name, [...fields.get(name) ?? [], message])
    else others.push(path === '' ? message : `${path}: ${message}`)
  }
  return { fields, others }
}
