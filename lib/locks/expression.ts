/** A condition as a put or a delete takes it. */
export interface Condition {
  ConditionExpression: string
  ExpressionAttributeNames: Record<string, string>
  ExpressionAttributeValues?: Record<string, unknown>
}

/** The names that expressions hold as `#name`, since some are reserved words; `#key` stands for the partition key. */
export function namesOf (...expressions: string[]): Record<string, string> {
  const names = [...expressions.join(' ').matchAll(/#\w+/g)]
  return Object.fromEntries(names.map(([name]) => [name, name === '#key' ? 'env_entityType_entityId' : name.slice(1)]))
}

/** A condition with what its expression names. */
export function condition (expression: string, values: Record<string, unknown> = {}): Condition {
  return {
    ConditionExpression: expression,
    ExpressionAttributeNames: namesOf(expression),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values })
  }
}

/** Both conditions in one. */
export function both (a: Condition, b: Condition): Condition {
  return condition(`(${a.ConditionExpression}) AND (${b.ConditionExpression})`, { ...a.ExpressionAttributeValues, ...b.ExpressionAttributeValues })
}
