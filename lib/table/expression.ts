/** A condition as a put or a delete takes it. */
export interface Condition {
  ConditionExpression: string
  ExpressionAttributeNames: Readonly<Record<string, string>>
  ExpressionAttributeValues?: Record<string, unknown>
}

/**
 * What is asked of an item: one of several alternatives, each with all of its comparisons. So the
 * expression is flat, ORs of ANDs: dynalite's parser, which is that of `npm run dev` and of the
 * tests, takes time exponential in nested parentheses.
 */
export type Rule = ReadonlyArray<readonly string[]>

/**
 * A rule in DynamoDB's expression language, with the names in it as `#name` and the values as
 * `:name`.
 */
export interface Expression {
  text: string
  names: Readonly<Record<string, string>>
  /** What the values in it are called. */
  values: readonly string[]
}

/**
 * Values by their names. Those that an expression does not have are left out, since DynamoDB
 * refuses them.
 */
export type ExpressionValues = Readonly<Record<string, unknown>>

/**
 * The names of each expression. Expressions are the code's own, so they are few: what a caller
 * sends is in values.
 */
const namesByText = new Map<string, Readonly<Record<string, string>>>()

/**
 * The names that expressions hold as `#name`, since some are reserved words; `#key` stands for the
 * partition key.
 */
export function namesOf(...expressions: string[]): Readonly<Record<string, string>> {
  const text = expressions.join(' ')
  const names =
    namesByText.get(text) ??
    Object.freeze(
      Object.fromEntries(
        [...text.matchAll(/#\w+/g)].map(([name]) => [
          name,
          name === '#key' ? 'env_entityType_entityId' : name.slice(1)
        ])
      )
    )
  namesByText.set(text, names)
  return names
}

/** A rule of one comparison or function, without AND, OR or parentheses around it. */
export function rule(text: string): Rule {
  return [[text]]
}

/** Every one of the rules. */
export function all(...rules: Rule[]): Rule {
  return rules.reduce((left, right) =>
    left.flatMap((parts) => right.map((others) => [...parts, ...others]))
  )
}

/** At least one of the rules. */
export function any(...rules: Rule[]): Rule {
  return rules.flat()
}

/** A rule as an expression. */
export function expressionOf(rule: Rule): Expression {
  const text = rule.map((parts) => parts.join(' AND ')).join(' OR ')
  return { text, names: namesOf(text), values: [...new Set(text.match(/:\w+/g))] }
}

/** The values that an expression has. */
export function valuesIn(
  { values: names }: Expression,
  values: ExpressionValues
): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name]]))
}

/** An expression as the condition of a put or a delete. */
export function condition(expression: Expression, values: ExpressionValues = {}): Condition {
  return {
    ConditionExpression: expression.text,
    ExpressionAttributeNames: expression.names,
    ...(expression.values.length > 0 && { ExpressionAttributeValues: valuesIn(expression, values) })
  }
}

/**
 * The expressions of rules that come in a few shapes, each made once: to make one takes as long as
 * to store a record in DynamoDB's form, and each write has one.
 * @param ruleOf the rule of a shape, of which every member counts
 */
export function expressionsByShape<Shape extends object>(
  ruleOf: (shape: Shape) => Rule
): (shape: Shape) => Expression {
  const expressions = new Map<string, Expression>()
  return (shape) => {
    const name = Object.values(shape).join()
    const expression = expressions.get(name) ?? expressionOf(ruleOf(shape))
    expressions.set(name, expression)
    return expression
  }
}

/** There is no item. */
export const isAbsent = rule('attribute_not_exists(#key)')

const absence = condition(expressionOf(isAbsent))

/** Condition of a put: there is no record. */
export function isNothing(): Condition {
  return absence
}

const ofVersion = expressionOf(rule('#version = :version'))
const ofNoVersion = expressionOf(
  all(rule('attribute_exists(#key)'), rule('NOT attribute_type(#version, :string)'))
)

/**
 * Condition: the record is in this version, which no other one has had. Quoin's versions are
 * strings; for anything else, or nothing, that the record still has none of them.
 */
export function isOfVersion(version: unknown): Condition {
  return typeof version === 'string'
    ? condition(ofVersion, { ':version': version })
    : condition(ofNoVersion, { ':string': 'S' })
}
