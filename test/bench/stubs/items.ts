// The items of a table, and what DynamoDB answers of them: the operations and the part of the expression language that
// Quoin uses. In memory, with each expression parsed once, so that it takes a small part of the machine.

type Value = Record<string, unknown>
type Item = Record<string, Value>

/** What an operation is asked with, as far as it is used. */
interface Input {
  Item?: Item
  Key?: Item
  ConditionExpression?: string
  KeyConditionExpression?: string
  FilterExpression?: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Record<string, Value>
  ReturnValues?: string
  ReturnValuesOnConditionCheckFailure?: string
  ScanIndexForward?: boolean
  Limit?: number
  ExclusiveStartKey?: Item
  TransactItems?: Array<Record<string, Input>>
}

export interface StoreAnswer {
  status: number
  body: object
}

type Operand = (item: Item, input: Input) => Value | undefined
type Test = (item: Item, input: Input) => boolean

const [PARTITION, SORT] = ['env_entityType_entityId', 'fieldName']

/** @returns what answers an operation */
export function createItems(): (operation: string, input: Input) => StoreAnswer {
  const partitions = new Map<string, Map<string, Item>>()
  return (operation, input) => {
    switch (operation) {
      case 'GetItem': {
        const item = itemAt(partitions, input.Key!)
        return { status: 200, body: item ? { Item: item } : {} }
      }
      case 'PutItem':
      case 'DeleteItem':
        return answerOfWrite(partitions, input)
      case 'Query':
        return answerOfQuery(partitions, input)
      case 'TransactWriteItems':
        return answerOfTransaction(partitions, input)
      default:
        return failure('UnknownOperationException', { message: `this store has no ${operation}` })
    }
  }
}

type Partitions = Map<string, Map<string, Item>>

function itemAt(partitions: Partitions, key: Item): Item | undefined {
  return partitions.get(String(key[PARTITION]!['S']))?.get(String(key[SORT]!['S']))
}

/** @param Key of a delete; a put has an item */
function write(partitions: Partitions, { Item: item, Key: key = item! }: Input): void {
  const [partitionName, name] = [String(key[PARTITION]!['S']), String(key[SORT]!['S'])]
  const partition = partitions.get(partitionName) ?? new Map<string, Item>()
  partitions.set(partitionName, partition)
  if (item) partition.set(name, item)
  else partition.delete(name)
}

function answerOfWrite(partitions: Partitions, input: Input): StoreAnswer {
  const previous = itemAt(partitions, input.Item ?? input.Key!)
  if (!holds(input.ConditionExpression, previous, input)) {
    return failure('ConditionalCheckFailedException', { message: 'The conditional request failed', ...unmetItem(previous, input) })
  }
  write(partitions, input)
  return { status: 200, body: input.ReturnValues === 'ALL_OLD' && previous ? { Attributes: previous } : {} }
}

function unmetItem(item: Item | undefined, input: Input): object {
  return input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && item ? { Item: item } : {}
}

function answerOfTransaction(partitions: Partitions, { TransactItems = [] }: Input): StoreAnswer {
  const parts = TransactItems.flatMap((part) => Object.entries(part))
  const reasons = parts.map(([, input]) => {
    const item = itemAt(partitions, input.Item ?? input.Key!)
    return holds(input.ConditionExpression, item, input)
      ? { Code: 'None' }
      : { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed', ...unmetItem(item, input) }
  })
  if (reasons.some(({ Code }) => Code !== 'None')) {
    const codes = reasons.map(({ Code }) => Code).join(', ')
    return failure('TransactionCanceledException', {
      message: `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`,
      CancellationReasons: reasons
    })
  }
  for (const [kind, input] of parts) if (kind !== 'ConditionCheck') write(partitions, input)
  return { status: 200, body: {} }
}

function answerOfQuery(partitions: Partitions, input: Input): StoreAnswer {
  const found = [...partitions.values()]
    .filter((items) => items.size > 0 && isAsked(items, input))
    .flatMap((items) => [...items.values()])
    .filter((item) => holds(input.KeyConditionExpression, item, input))
    .sort((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1))
  if (input.ScanIndexForward === false) found.reverse()
  const start = input.ExclusiveStartKey ? found.findIndex((item) => sortKeyOf(item) === sortKeyOf(input.ExclusiveStartKey!)) + 1 : 0
  const page = found.slice(start, start + (input.Limit ?? Infinity))
  const Items = page.filter((item) => holds(input.FilterExpression, item, input))
  const last = start + page.length < found.length ? page.at(-1) : undefined
  return {
    status: 200,
    body: {
      Items,
      Count: Items.length,
      ScannedCount: page.length,
      ...(last && { LastEvaluatedKey: { [PARTITION]: last[PARTITION], [SORT]: last[SORT] } })
    }
  }
}

/** Whether a query names the partition of these items among its values. */
function isAsked(items: Map<string, Item>, { ExpressionAttributeValues: values = {} }: Input): boolean {
  const [first] = items.values()
  return Object.values(values).some(({ S }) => S === first![PARTITION]!['S'])
}

const sortKeyOf = (item: Item) => String(item[SORT]!['S'])

function failure(name: string, members: object): StoreAnswer {
  return { status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, ...members } }
}

const tests = new Map<string, Test>()

function holds(expression: string | undefined, item: Item | undefined, input: Input): boolean {
  if (expression === undefined) return true
  const test = tests.get(expression) ?? parse(expression)
  tests.set(expression, test)
  return test(item ?? {}, input)
}

/** Source: "Comparison operator and function reference" of DynamoDB's expressions. */
function parse(expression: string): Test {
  const tokens = expression.match(/[(),]|<=|>=|<|=|>|[\w#:.]+/g)!
  const next = () => tokens.shift()!
  const test = parseAny(tokens, next)
  if (tokens.length > 0) throw new Error(`not understood: ${tokens.join(' ')}`)
  return test
}

function parseAny(tokens: string[], next: () => string): Test {
  const alternatives = [parseEvery(tokens, next)]
  while (tokens[0] === 'OR') alternatives.push([next(), parseEvery(tokens, next)][1] as Test)
  return (item, input) => alternatives.some((test) => test(item, input))
}

function parseEvery(tokens: string[], next: () => string): Test {
  const parts = [parseOne(tokens, next)]
  while (tokens[0] === 'AND') parts.push([next(), parseOne(tokens, next)][1] as Test)
  return (item, input) => parts.every((test) => test(item, input))
}

function parseOne(tokens: string[], next: () => string): Test {
  const token = next()
  if (token === 'NOT') {
    const test = parseOne(tokens, next)
    return (item, input) => !test(item, input)
  }
  if (token === '(') {
    const test = parseAny(tokens, next)
    next()
    return test
  }
  if (tokens[0] === '(') return functionOf(token, operandsOf(next))
  const left = operandOf(token)
  const operator = next()
  const others = operator === 'IN' ? operandsOf(next) : [operandOf(next())]
  return (item, input) => others.some((right) => compares(left(item, input), operator, right(item, input)))
}

function operandsOf(next: () => string): Operand[] {
  const operands: Operand[] = []
  for (let separator = next(); separator !== ')'; separator = next()) operands.push(operandOf(next()))
  return operands
}

function operandOf(token: string): Operand {
  if (token.startsWith(':')) return (_item, input) => input.ExpressionAttributeValues?.[token]
  const path = token.split('.')
  return (item, { ExpressionAttributeNames: names = {} }) =>
    path.reduce<Value | undefined>((value, name) => (value?.['M'] as Item | undefined)?.[names[name] ?? name], { M: item })
}

function functionOf(name: string, [first, second]: Operand[]): Test {
  switch (name) {
    case 'attribute_exists':
      return (item, input) => first!(item, input) !== undefined
    case 'attribute_not_exists':
      return (item, input) => first!(item, input) === undefined
    case 'attribute_type':
      return (item, input) => String(second!(item, input)!['S']) in (first!(item, input) ?? {})
    case 'begins_with':
      return (item, input) => String(first!(item, input)?.['S'] ?? '').startsWith(String(second!(item, input)!['S']))
    case 'contains':
      return (item, input) => String(first!(item, input)?.['S'] ?? '').includes(String(second!(item, input)!['S']))
    default:
      throw new Error(`no function ${name}`)
  }
}

function compares(left: Value | undefined, operator: string, right: Value | undefined): boolean {
  const [[leftType, leftValue], [rightType, rightValue]] = [Object.entries(left ?? {})[0] ?? [], Object.entries(right ?? {})[0] ?? []]
  if (leftType === undefined || leftType !== rightType) return false
  const [one, other] = leftType === 'N' ? [Number(leftValue), Number(rightValue)] : [scalar(leftValue), scalar(rightValue)]
  switch (operator) {
    case '<':
      return one < other
    case '<=':
      return one <= other
    case '>':
      return one > other
    case '>=':
      return one >= other
    default:
      return one === other
  }
}

const scalar = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
