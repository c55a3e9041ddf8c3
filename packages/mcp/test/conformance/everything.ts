import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
  type CallToolResult,
  type ClientCapabilities,
  type GetPromptResult,
  type JsonSchemaType,
  type InputRequiredResult,
  type ServerContext
} from '@modelcontextprotocol/server'

// What the scenarios of @modelcontextprotocol/conformance call: tools, prompts and resources by the
// names that the descriptions of the scenarios give them.

type Result = CallToolResult | InputRequiredResult

/** A red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** The header of a WAV of no samples. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const
const says = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })
const asks = (text: string): GetPromptResult => ({ messages: [{ role: 'user', content: { type: 'text', text } }] })
const schema = (properties: Record<string, object> = {}) =>
  ({ type: 'object', properties, required: Object.keys(properties) }) as JsonSchemaType & { type: 'object' }
const input = (properties?: Record<string, object>) => fromJsonSchema<Record<string, string>>(schema(properties))
const text = { type: 'string' }

const states = createRequestStateCodec<{ step: number }>({ key: 'a key that only tests of conformance have' })

/** A question by a form. */
const form = (message: string, properties: Record<string, object>) =>
  inputRequired.elicit({ message, requestedSchema: schema(properties) as never })
const sample = (prompt: string, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens })

/** The answers to what the client was asked, and what it declares. */
const answers = ({ mcpReq }: ServerContext) => mcpReq.inputResponses
const accepted = (context: ServerContext, key: string) => acceptedContent<Record<string, string>>(answers(context), key)
const isAnswered = (context: ServerContext, key: string) => inputResponse(answers(context), key).kind !== 'missing'
const stepOf = ({ mcpReq }: ServerContext) => mcpReq.requestState<{ step: number }>()?.step

/** Each tool with what it does; without arguments unless it is in `ARGUMENTS`. */
const TOOLS: Record<string, (args: Record<string, string>, context: ServerContext) => Result | Promise<Result>> = {
  test_simple_text: () => says('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [
      {
        type: 'resource',
        resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' }
      }
    ]
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      {
        type: 'resource',
        resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' }
      }
    ]
  }),
  test_error_handling: () => {
    throw new Error('This tool intentionally returns an error for testing')
  },
  async test_tool_with_logging(_args, { mcpReq }) {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', message)
      await sleep(50)
    }
    return says('logged')
  },
  async test_logging_tool(_args, { mcpReq }) {
    await mcpReq.log('info', 'A message of the log')
    return says('logged')
  },
  async test_tool_with_progress(_args, { mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      }
      await sleep(50)
    }
    return says('done')
  },
  test_missing_capability: () => inputRequired({ inputRequests: { question: sample('Anything') } }),
  test_streaming_elicitation: (_args, context) =>
    isAnswered(context, 'name') ? says('done') : inputRequired({ inputRequests: { name: form('What is your name?', { name: text }) } }),
  test_sampling: ({ prompt }, context) => {
    const answer = inputResponse(answers(context), 'answer')
    return answer.kind === 'missing'
      ? inputRequired({ inputRequests: { answer: sample(prompt!) } })
      : says(`LLM response: ${JSON.stringify(answer)}`)
  },
  test_elicitation: ({ message }, context) => elicited(context, 'User response', form(message!, { username: text, email: text })),
  test_elicitation_sep1034_defaults: (_args, context) =>
    elicited(
      context,
      'Elicitation completed',
      form('Defaults', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true }
      })
    ),
  test_elicitation_sep1330_enums: (_args, context) =>
    elicited(
      context,
      'Elicitation completed',
      form('Enums', {
        untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
        titledSingle: { type: 'string', oneOf: titled('value', 'Option') },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
        titledMulti: { type: 'array', items: { anyOf: titled('value', 'Choice') } }
      })
    ),
  test_input_required_result_elicitation: (_args, context) => {
    const name = accepted(context, 'user_name')?.['name']
    return typeof name === 'string'
      ? says(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: form('What is your name?', { name: text }) } })
  },
  test_input_required_result_sampling: (_args, context) =>
    isAnswered(context, 'capital_question')
      ? says(JSON.stringify(answers(context)))
      : inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?') } }),
  test_input_required_result_list_roots: (_args, context) =>
    isAnswered(context, 'client_roots')
      ? says(JSON.stringify(answers(context)))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  test_input_required_result_request_state: async (_args, context) =>
    stepOf(context) === 1 && isAnswered(context, 'confirm')
      ? says('state-ok')
      : inputRequired({
          inputRequests: { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
          requestState: await states.mint({ step: 1 })
        }),
  test_input_required_result_multiple_inputs: async (_args, context) =>
    ['user_name', 'greeting', 'client_roots'].every((key) => isAnswered(context, key))
      ? says('all of them')
      : inputRequired({
          inputRequests: {
            user_name: form('What is your name?', { name: text }),
            greeting: sample('Generate a greeting', 50),
            client_roots: inputRequired.listRoots()
          },
          requestState: await states.mint({ step: 1 })
        }),
  test_input_required_result_multi_round: async (_args, context) => {
    const step = stepOf(context) ?? 0
    if (step === 2) return says('two answers')
    return inputRequired({
      inputRequests:
        step === 0
          ? { step1: form('Step 1: What is your name?', { name: text }) }
          : { step2: form('Step 2: What is your favorite color?', { color: text }) },
      requestState: await states.mint({ step: step + 1 })
    })
  },
  test_input_required_result_tampered_state: async (_args, context) =>
    stepOf(context) === 1
      ? says('done')
      : inputRequired({
          inputRequests: { confirm: form('Please confirm', { ok: { type: 'boolean' } }) },
          requestState: await states.mint({ step: 1 })
        }),
  test_input_required_result_capabilities: (_args, context) => {
    if (answers(context)) return says('done')
    const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
    const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
    return inputRequired({
      inputRequests: {
        ...(declared?.sampling !== undefined && { sampling: sample('Anything') }),
        ...(declared?.elicitation !== undefined && { elicitation: form('Anything?', { name: text }) })
      }
    })
  }
}

const ARGUMENTS: Record<string, Record<string, object>> = {
  test_sampling: { prompt: text },
  test_elicitation: { message: text }
}

/** Three values with their titles. */
function titled(value: string, title: string): object[] {
  return ['First', 'Second', 'Third'].map((nth, index) => ({ const: `${value}${index + 1}`, title: `${nth} ${title}` }))
}

/** Asks by a form, and tells what came back. */
function elicited(context: ServerContext, title: string, question: ReturnType<typeof form>): Result {
  const answer = inputResponse(answers(context), 'answer')
  return answer.kind === 'missing' ? inputRequired({ inputRequests: { answer: question } }) : says(`${title}: ${JSON.stringify(answer)}`)
}

/** A server with everything that the scenarios ask for. */
export function everything(): McpServer {
  const server = new McpServer(
    { name: 'everything', version: '1' },
    {
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, subscribe: true },
        logging: {},
        completions: {}
      },
      requestState: { verify: states.verify }
    }
  )
  for (const [name, run] of Object.entries(TOOLS)) {
    server.registerTool(name, { description: name, inputSchema: input(ARGUMENTS[name]) }, async (args, context) => run(args, context))
  }
  addPrompts(server)
  addResources(server)
  server.server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park'], total: 2, hasMore: false } }))
  for (const method of ['resources/subscribe', 'resources/unsubscribe'] as const) server.server.setRequestHandler(method, () => ({}))
  return server
}

function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt' }, () => asks('This is a simple prompt for testing.'))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with arguments', argsSchema: input({ arg1: text, arg2: text }) },
    ({ arg1, arg2 }) => asks(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt with a resource', argsSchema: input({ resourceUri: text }) },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri!, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
          }
        },
        ...asks('Please process the embedded resource above.').messages
      ]
    })
  )
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image' }, () => ({
    messages: [{ role: 'user', content: image }, ...asks('Please analyze the image above.').messages]
  }))
  server.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks' }, (context) => {
    const answer = accepted(context, 'user_context')
    return answer
      ? asks(`In the context of ${answer['context']}`)
      : inputRequired({ inputRequests: { user_context: form('What context should the prompt use?', { context: text }) } })
  })
}

function addResources(server: McpServer): void {
  const add = (name: string, mimeType: string, content: { text: string } | { blob: string }) =>
    server.registerResource(name, `test://${name}`, { description: name, mimeType }, (uri) => ({
      contents: [{ uri: uri.href, mimeType, ...content }]
    }))
  add('static-text', 'text/plain', { text: 'This is the content of the static text resource.' })
  add('static-binary', 'image/png', { blob: PNG })
  add('watched-resource', 'text/plain', { text: 'Watched' })
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'By an id', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        { uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
      ]
    })
  )
}
