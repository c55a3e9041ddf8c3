/** A condition as a put or a delete takes it. */
export interface Condition {
  ConditionExpression: string
  ExpressionAttributeNames: Readonly<Record<string, string>>
  ExpressionAttributeValues?: Record<string, unknown>
}

/** One comparison or function of DynamoDB's expression language, with the values that it names. */
interface Part { text: string, values: Record<string, unknown> }

/**
 * What is asked of an item: one of several alternatives, each with all of its parts. So the expression is flat, ORs of
 * ANDs: dynalite's parser, which is that of `npm run dev` and of the tests, takes time exponential in nested parentheses.
 */
export type Rule = ReadonlyArray<readonly Part[]>

/** The names of each expression. Expressions are the code's own, so they are few: what a caller sends is in values. */
const namesByText = new Map<string, Readonly<Record<string, string>>>()

/** The names that expressions hold as `#name`, since some are reserved words; `#key` stands for the partition key. */
export function namesOf (...expressions: string[]): Readonly<Record<string, string>> {
  const text = expressions.join(' ')
  const names = namesByText.get(text) ?? Object.freeze(Object.fromEntries([...text.matchAll(/#\w+/g)].map(([name]) => [name, name === '#key' ? 'env_entityType_entityId' : name.slice(1)])))
  namesByText.set(text, names)
  return names
}

/** A rule of one part, without AND, OR or parentheses around it. */
export function rule (text: string, values: Record<string, unknown> = {}): Rule {
  return [[{ text, values }]]
}

/** Every one of the rules. Where a value has the same name in several, it is the same value. */
export function all (...rules: Rule[]): Rule {
  return rules.reduce((left, right) => left.flatMap((parts) => right.map((others) => [...parts, ...others])))
}

/** At least one of the rules. */
export function any (...rules: Rule[]): Rule {
  return rules.flat()
}

/** A rule as the condition of a put or a delete. */
export function condition (rule: Rule): Condition {
  const expression = rule.map((parts) => parts.map(({ text }) => text).join(' AND ')).join(' OR ')
  const values = Object.assign({}, ...rule.flat().map(({ values }) => values)) as Record<string, unknown>
  return {
    ConditionExpression: expression,
    ExpressionAttributeNames: namesOf(expression),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values })
  }
}
