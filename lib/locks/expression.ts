/** A condition as a put or a delete takes it. */
export interface Condition {
  ConditionExpression: string
  ExpressionAttributeNames: Readonly<Record<string, string>>
  ExpressionAttributeValues?: Record<string, unknown>
}

/** By expression. These are the code's own, so they are few: what a caller sends is in values. */
const known = new Map<string, Readonly<Record<string, string>>>()

/** The names that expressions hold as `#name`, since some are reserved words; `#key` stands for the partition key. */
export function namesOf (...expressions: string[]): Readonly<Record<string, string>> {
  const text = expressions.join(' ')
  const names = known.get(text) ?? Object.freeze(Object.fromEntries([...text.matchAll(/#\w+/g)].map(([name]) => [name, name === '#key' ? 'env_entityType_entityId' : name.slice(1)])))
  known.set(text, names)
  return names
}

/** A condition with what its expression names. */
export function condition (expression: string, values: Record<string, unknown> = {}, names = namesOf(expression)): Condition {
  return {
    ConditionExpression: expression,
    ExpressionAttributeNames: names,
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values })
  }
}

/** Both conditions in one. */
export function both (a: Condition, b: Condition): Condition {
  return condition(
    `(${a.ConditionExpression}) AND (${b.ConditionExpression})`,
    { ...a.ExpressionAttributeValues, ...b.ExpressionAttributeValues },
    { ...a.ExpressionAttributeNames, ...b.ExpressionAttributeNames }
  )
}
