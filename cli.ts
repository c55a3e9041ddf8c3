#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'
import manifest from 'quoin/package.json' with { type: 'json' }

/** The verbs: what each does, and the module that does it when it is loaded. */
const verbs: Record<
  string,
  { summary: string; run: (args: string[]) => Promise<unknown>; takesArguments?: true }
> = {
  start: {
    summary: 'serves what the settings in the environment, or in .env, say',
    run: async () => (await import('./server.ts')).start()
  },
  dev: {
    summary:
      'the same, with a lock store and a sample CMS of its own where the settings name none (--fresh forgets what they keep)',
    run: async (args) => (await import('./dev/start.ts')).dev(args),
    takesArguments: true
  },
  doctor: {
    summary:
      'looks for what is wrong with the settings, the lock table and the CMS, and says what to do',
    run: async () => (await import('./packages/setup/doctor.ts')).doctor()
  },
  model: {
    summary:
      'asks the CMS for its content model and writes it (--entity-type=<name>, --bundles=<name>,<name>, --force)',
    run: async (args) => (await import('./packages/setup/model.ts')).model(args),
    takesArguments: true
  },
  types: {
    summary:
      'writes the types of the content for the client (types <file>, content.ts by default, --force)',
    run: async (args) => (await import('./packages/setup/types.ts')).types(args),
    takesArguments: true
  },
  table: {
    summary: 'makes the lock table, or checks it',
    run: async () => (await import('./packages/setup/table.ts')).table()
  },
  mcp: {
    summary:
      'gives the tools for agents of a running Quoin (QUOIN_URL) to a program that speaks MCP on standard input',
    run: async () => (await import('./packages/mcp/stdio.ts')).mcp()
  },
  'drupal-key': {
    summary:
      'makes the key in a file by which the Drupal module signs tokens, or the next one (drupal-key <file>)',
    run: async (args) => (await import('./packages/setup/drupal-key.ts')).drupalKey(args),
    takesArguments: true
  }
}

const width = Math.max(...Object.keys(verbs).map((verb) => verb.length))
const usage = `${manifest.description}.

Usage: quoin <verb>

${Object.entries(verbs)
  .map(([verb, { summary }]) => `  ${verb.padEnd(width)}  ${summary}`)
  .join('\n')}

  --help     shows this
  --version  shows the version

Settings are environment variables, also in a file .env. Each is in docs/settings.md of this package.`

/** The exit code for a command that cannot be understood, as POSIX utilities have it. */
const MISUSED = 2

/** The oldest Node that runs it, such as `22.20`. A package cannot bring one. */
const oldest = manifest.engines.node.replace('>=', '')

function isTooOld(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = oldest.split('.').map(Number)
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor)
}

const [verb, ...params] = process.argv.slice(2)
if (verb === '--help' || verb === '-h') console.log(usage)
else if (verb === '--version' || verb === '-v') console.log(manifest.version)
else if (
  verb === undefined ||
  !Object.hasOwn(verbs, verb) ||
  (params.length > 0 && !verbs[verb]!.takesArguments)
) {
  const reason =
    verb === undefined
      ? ''
      : Object.hasOwn(verbs, verb)
        ? `quoin ${verb} takes nothing more, but was given ${params.join(' ')}\n\n`
        : `There is no quoin ${verb}\n\n`
  console.error(`${reason}${usage}`)
  process.exitCode = MISUSED
} else if (isTooOld()) {
  console.error(`Quoin needs Node ${oldest} or later; this is Node ${process.versions.node}.`)
  process.exitCode = 1
} else {
  // As config/node-version.cjs does for a clone. An older Node cannot load package-root.ts.
  const { PACKAGE_ROOT } = await import('./lib/package-root.ts')
  module.enableCompileCache(join(PACKAGE_ROOT, 'node_modules/.cache/node'))
  await verbs[verb]!.run(params)
}
