import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { ROOT } from './fixtures/processes.ts'

/** A source file: its path from the root, and its text. */
type Sources = Map<string, string>

const UNFINISHED = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`)
const UNDICI = ['lib/http/exchange.ts', 'lib/table/transport.ts', 'lib/http/client.ts']
/** Where its modules are declared. */
const UNDICI_TYPES = 'lib/http/undici-parts.d.ts'
/** What only Drupal calls so: entity types, fields, JSON:API members and resource paths. */
const DRUPALS_NAMES = /publisher_container|field_publisher|drupal_internal__|revision_translation_affected|\/jsonapi\/[a-z_]+\//
const MAY_NAME_DRUPALS =
  /^(?:(?:lib\/editions|packages\/(?:drupal-stand-in|setup)|dev|test)\/|lib\/auth\/drupal\.ts$|packages\/client\/src\/editions\.ts$)/

/** From the top of the house down: an import goes to the same floor or a lower one. */
const FLOORS = [
  /^(?:packages\/(?:(?:desk\/(?:page|elements)|drupal-stand-in|setup|mcp\/stdio)\/|mcp\/stdio\.ts$)|dev\/|cli\.ts$)/,
  /^server\.ts$/,
  /^app\.ts$/,
  /^(?:plugins|routes|packages\/(?:desk|mcp)\/server)\//,
  /^config\//,
  /^(?:lib|packages\/(?:client|react|vue))\//
]
const floor = (path: string) => FLOORS.findIndex((pattern) => pattern.test(path))

/** Edges that must not be: where from, where to, and why. */
const FORBIDDEN: Array<[from: RegExp, to: RegExp, why: string]> = [
  [/^lib\//, /^(?:@?fastify(?:[-/].*)?|(?:plugins|routes|config)\/.*)$/, 'lib knows nothing of what stands above it'],
  [/^lib\/(?:locks|table)\//, /^lib\/(?:editions|drupal)\//, 'locks know no CMS'],
  [/^lib\/(?:editions|drupal)\//, /^lib\/(?:locks|table)\//, 'editions know no DynamoDB'],
  [/^lib\/(?:locks|table|editions|drupal)\//, /^lib\/(?:boards|saves)\//, 'the halves know nothing of what joins them'],
  [/^lib\/(?:table|drupal)\//, /^lib\/(?:locks|editions)\//, 'a client knows nothing of what it is used for'],
  [/^lib\/saves\//, /^lib\/(?:locks\/|boards\/(?!entities\.ts$))/, 'what joins table and editions knows no locks'],
  [/^lib\/http\//, /^lib\/(?!http\/|(?:errors|observe)\.ts$)/, 'an exchange knows nothing of what it carries'],
  [/^lib\/bus\//, /^lib\/(?!bus\/)/, 'the bus knows nothing of what it carries'],
  [/^lib\/editions\/translate\//, /^lib\/editions\/(?!translate\/|model\.ts$)/, 'translation knows nothing of the site'],
  [/^lib\/editions\/site\//, /^lib\/editions\/(?!site\/|translate\/|model\.ts$)/, 'a site knows nothing of what is done with it'],
  [
    /^packages\/setup\/survey\//,
    /^(?:packages\/setup\/(?!survey\/)|lib\/editions\/(?!site\/|translate\/|model\.ts$))/,
    'a survey knows nothing of what is done with a site'
  ],
  [/^lib\/editions\/lookup\//, /^lib\/editions\/(?!lookup\/|site\/|translate\/|model\.ts$)/, 'a look-up knows nothing of lists and saves'],
  [/^lib\/editions\/\w+\//, /^lib\/editions\/(?!\w+\/|model\.ts$|schemas\.ts$)/, 'the rooms know nothing of what joins them'],
  [/^(?!packages\/setup\/|test\/|cli\.ts$)/, /^packages\/setup\//, 'the service starts without its setup'],
  [/^lib\/auth\//, /^lib\/(?:locks|table|editions)\//, 'who calls does not depend on what for'],
  [/^lib\/(?:locks|table|editions|drupal)\//, /^lib\/auth\//, 'who calls is told from above'],
  [/^routes\//, /^plugins\//, 'routes see decorators only'],
  [/^plugins\//, /^routes\//, 'plugins serve routes, not the other way round'],
  [
    /^packages\/desk\/(?:page|elements)\//,
    /^(?!packages\/(?:desk\/(?:page|elements)|client\/src)\/|lit-html(?:\/|$)|diff$|prosemirror-[a-z-]+$)/,
    'the desk is a client like any other'
  ],
  [
    /^packages\/(?:react|vue)\/src\//,
    /^(?!packages\/client\/src\/(?:client|live)\.ts$|(?:react|vue)$)/,
    'hooks join the client and a framework'
  ],
  [/^(?!packages\/(?:react|vue)\/|test\/)/, /^packages\/(?:react|vue)\//, 'other UIs use hooks, not this house'],
  [
    /^packages\/desk\/server\//,
    /^(?!packages\/desk\/server\/|(?:lib|config|routes)\/|node:|fastify$|@fastify\/type-provider-typebox$|@sinclair\/typebox$|negotiator$|esbuild$)/,
    'the server half of the desk is routes, and the build of its page'
  ],
  [
    /^(?!packages\/desk\/|test\/|plugins\/app\/desk\.ts$)/,
    /^packages\/desk\//,
    'the service loads the desk at one place, and knows nothing of it'
  ],
  [/^plugins\/app\/desk\.ts$/, /^packages\/desk\/(?!server\/desk\.ts$)/, 'the service loads the plugin of the desk alone'],
  [
    /^packages\/mcp\/server\//,
    /^(?!packages\/mcp\/server\/|(?:lib|config|routes)\/|node:|fastify$|@modelcontextprotocol\/server$|@sinclair\/typebox(?:\/|$))/,
    'the tools for agents call the services'
  ],
  [
    /^(?!packages\/mcp\/|test\/|plugins\/app\/mcp\.ts$|cli\.ts$)/,
    /^packages\/mcp\//,
    'the service loads the tools for agents at one place'
  ],
  [
    /^packages\/mcp\/stdio(?:\/|\.ts$)/,
    /^(?!packages\/mcp\/(?:stdio\/|server\/instructions\.ts$)|lib\/package-root\.ts$|node:|@modelcontextprotocol\/server(?:\/|$))/,
    'what speaks on standard input is a client of a Quoin'
  ],
  [/^plugins\/app\/mcp\.ts$/, /^packages\/mcp\/(?!server\/mcp\.ts$)/, 'the service loads the plugin of the tools alone'],
  [
    /^(?!packages\/drupal-stand-in\/|dev\/|test\/|cli\.ts$)/,
    /^(?:packages\/drupal-stand-in|dev)\//,
    'the stand-ins are no part of the service'
  ],
  [/^(?!test\/)/, /^test\//, 'tests are no part of the service']
]

const remembered = new Map<string, Map<string, string[]>>()

/** Where a file stands as the rules see it: the tests of a package are tests like all others. */
const place = (path: string) => path.replace(/^packages\/([\w-]+)\/test\//, 'test/$1/')

/** What a file imports, for its values or its types: paths from the root, or packages. A text is searched once. */
function importsOf(path: string, text: string): string[] {
  const ofPath = remembered.get(path) ?? new Map<string, string[]>()
  const imports = ofPath.get(text) ?? search(path, text)
  remembered.set(path, ofPath.set(text, imports))
  return imports
}

function search(path: string, text: string): string[] {
  const specifiers = text.matchAll(/^(?:import|export)\s(?:[^'"]*?\sfrom\s)?'([^']+)'|\b(?:import|require)\('([^']+)'\)/gm)
  return [...specifiers].map(([, from, called]) => {
    const specifier = (from ?? called)!
    if (specifier.startsWith('#lib/')) return specifier.slice(1)
    return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier
  })
}

/**
 * Everything in which the files break the house's rules, one line each.
 * @param paths of the files that are looked at; the others keep the rules
 */
function violations(sources: Sources, paths = [...sources.keys()]): string[] {
  const found: string[] = []
  for (const path of paths) {
    const text = sources.get(path)!
    for (const target of importsOf(path, text)) {
      for (const [from, to, why] of FORBIDDEN) {
        if (from.test(place(path)) && to.test(place(target))) found.push(`${path} imports ${target}: ${why}`)
      }
      if (sources.has(target) && floor(place(path)) > floor(target) && floor(place(target)) >= 0) {
        found.push(`${path} imports ${target}: imports point down`)
      }
    }
    if (path.startsWith('packages/client/src/')) {
      for (const target of importsOf(path, valuesIn(text))) {
        if (!target.startsWith('packages/client/src/')) {
          found.push(`${path} imports ${target}: a browser loads it, so of others it takes types alone`)
        }
      }
    }
    if (UNFINISHED.test(text)) found.push(`${path} is not finished`)
    if (place(path).startsWith('test/')) continue
    if (/['"]undici(?:\/[^'"]*)?['"]|\bundici\./.test(text) && !UNDICI.includes(path) && path !== UNDICI_TYPES) {
      found.push(`${path} names undici`)
    }
    if (DRUPALS_NAMES.test(text) && !MAY_NAME_DRUPALS.test(path)) {
      found.push(`${path} has Drupal's own name ${DRUPALS_NAMES.exec(text)![0]}`)
    }
  }
  return [...found, ...cycles(sources, paths), ...namesakes(sources), ...deadExports(sources, paths)]
}

/** Names that more than one file of the service exports. A schema and its type share a name, and a file. */
function namesakes(sources: Sources): string[] {
  const files = new Map<string, Set<string>>()
  for (const [path, text] of sources) {
    if (!/^(?:lib|plugins|routes|config|packages\/setup)\//.test(path)) continue
    for (const [, name] of text.matchAll(/^export (?:async )?(?:type|interface|const|function\*?) (\w+)/gm)) {
      files.set(name!, (files.get(name!) ?? new Set()).add(path))
    }
  }
  return [...files]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${[...paths].join(' and ')} export ${name}: one name for one thing`)
}

const rememberedNames = new Map<string, string[]>()

/** What the files that are no tests import by name: `lib/x.ts name`, or `lib/x.ts *` for all of it. A text is searched once. */
function importedNames(sources: Sources): Set<string> {
  const imported = new Set<string>()
  for (const [path, text] of sources) {
    if (isTest(path)) continue
    const key = `${path}\n${text}`
    const names = rememberedNames.get(key) ?? namesIn(path, text)
    rememberedNames.set(key, names)
    for (const name of names) imported.add(name)
  }
  return imported
}

function namesIn(path: string, text: string): string[] {
  const target = (specifier: string) => posix.join(posix.dirname(path), specifier)
  const named = text.matchAll(/\{([^{}]*)\}(?:\sfrom\s'([^']+)'| =\s+await import\(\s*'([^']+)')/g)
  const whole = text.matchAll(/^(?:import|export) (?:type )?\*[^']*from '([^']+)'/gm)
  const members = text.matchAll(/\bimport\('([^']+)'\)\)?\.(\w+)/g)
  return [
    ...[...named].flatMap(([, names, from, called]) =>
      names!.split(',').map(
        (name) =>
          `${target((from ?? called)!)} ${
            name
              .trim()
              .replace(/^type /, '')
              .split(/ as |: /)[0]
          }`
      )
    ),
    ...[...whole].map(([, from]) => `${target(from!)} *`),
    ...[...members].map(([, from, name]) => `${target(from!)} ${name}`)
  ]
}

const isTest = (path: string) => /(?:^|\/)test\//.test(path)

/** Exports that only tests use, or nothing: no other file imports them, and their own has no use for them either. */
function deadExports(sources: Sources, paths: string[]): string[] {
  const imported = importedNames(sources)
  return paths.flatMap((path) => {
    const text = sources.get(path)!
    if (!/^(?:lib|plugins|routes|config|packages\/setup)\//.test(path) || isTest(path) || imported.has(`${path} *`)) return []
    // Neither a comment nor the type of a schema is a use of it.
    const code = text.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$|^export type (\w+) =\s+Static<\s*typeof \1\s*>$/gm, '')
    const names = [...code.matchAll(/^export (?:async )?(?:type|interface|const|class|function\*?) (\w+)/gm)].map(([, name]) => name!)
    return names
      .filter((name) => !imported.has(`${path} ${name}`) && code.match(new RegExp(`\\b${name}\\b`, 'g'))!.length === 1)
      .map((name) => `${path} exports ${name}, which nothing but tests uses`)
  })
}

/** A file without what it imports for types alone. */
function valuesIn(text: string): string {
  return text.replaceAll(/^(?:import|export) type [^;]*? from '[^']+'$/gm, '')
}

/** Circles of imports, types included. */
function cycles(sources: Sources, paths: string[]): string[] {
  const found: string[] = []
  const done = new Set<string>()
  function visit(path: string, above: string[]): void {
    if (above.includes(path)) found.push(`imports go in a circle: ${[...above.slice(above.indexOf(path)), path].join(' > ')}`)
    if (above.includes(path) || done.has(path)) return
    for (const target of importsOf(path, sources.get(path)!)) if (sources.has(target)) visit(target, [...above, path])
    done.add(path)
  }
  for (const path of paths) visit(path, [])
  return found
}

const house: Sources = new Map(
  globSync(['*.ts', '{config,lib,packages/*,plugins,routes,dev,test}/**/*.{ts,cjs}'], {
    cwd: ROOT,
    exclude: ['test/drupal/site/**', 'packages/*/dist/**', 'test/app/architecture.test.ts']
  }).map((path) => [path, readFileSync(`${ROOT}/${path}`, 'utf8')])
)

t.test('the house is built as laid out', async (t) => {
  t.strictSame(violations(house), [])
  const edges = [...house].flatMap(([path, text]) => importsOf(path, text).map((target) => [path, target] as const))
  const broken = edges.filter(
    ([, target]) => /^(?:lib|plugins|routes|config|packages|dev|test)\//.test(target) && /\.ts$/.test(target) && !house.has(target)
  )
  t.strictSame(broken, [], 'every relative import was understood')
  t.ok(edges.some(([path, target]) => path === 'server.ts' && target === 'app.ts'))
  t.notMatch(house.get('cli.ts'), /^import .*packages\//m, 'quoin loads a package when its verb is asked for')
  t.ok(
    edges.some(([path, target]) => path === 'routes/editions.ts' && target === 'lib/editions/schemas.ts'),
    'an import of many lines too'
  )
  for (const path of UNDICI) {
    t.ok(
      edges.some(([from, target]) => from === path && target === 'undici'),
      path
    )
  }
})

t.test('each rule fails on a file that breaks it', async (t) => {
  const broken: Array<[path: string, text: string, violation: string]> = [
    ['lib/locks/x.ts', "import Fastify from 'fastify'", 'lib/locks/x.ts imports fastify: lib knows nothing'],
    ['lib/x.ts', "import type {\n  FastifyInstance\n} from 'fastify'", 'lib/x.ts imports fastify: lib knows nothing'],
    ['lib/x.ts', "import fp from 'fastify-plugin'", 'lib/x.ts imports fastify-plugin: lib knows nothing'],
    ['lib/x.ts', "import sensible from '@fastify/sensible'", 'lib/x.ts imports @fastify/sensible: lib knows nothing'],
    ['lib/x.ts', "import { answer } from '../plugins/app/errors.ts'", 'lib/x.ts imports plugins/app/errors.ts: lib knows nothing'],
    ['lib/locks/x.ts', "import routes from '../../routes/locks.ts'", 'lib/locks/x.ts imports routes/locks.ts: lib knows nothing'],
    ['lib/locks/x.ts', "import type { Config } from '../../config/env.ts'", 'lib/locks/x.ts imports config/env.ts: lib knows nothing'],
    ['lib/locks/x.ts', "export * from '../editions/model.ts'", 'lib/locks/x.ts imports lib/editions/model.ts: locks know no CMS'],
    [
      'lib/locks/x.ts',
      "const { request } = await import('../drupal/client.ts')",
      'lib/locks/x.ts imports lib/drupal/client.ts: locks know no CMS'
    ],
    [
      'lib/editions/x.ts',
      "import { createLocks } from '../locks/locks.ts'",
      'lib/editions/x.ts imports lib/locks/locks.ts: editions know no DynamoDB'
    ],
    ['lib/editions/x.ts', "import '../table/client.ts'", 'lib/editions/x.ts imports lib/table/client.ts: editions know no DynamoDB'],
    [
      'lib/locks/x.ts',
      "import { createTickets } from '../saves/tickets.ts'",
      'lib/locks/x.ts imports lib/saves/tickets.ts: the halves know nothing'
    ],
    [
      'lib/editions/x.ts',
      "import type { Boards } from '../boards/boards.ts'",
      'lib/editions/x.ts imports lib/boards/boards.ts: the halves know nothing'
    ],
    [
      'lib/table/x.ts',
      "import { recordOf } from '../locks/record.ts'",
      'lib/table/x.ts imports lib/locks/record.ts: a client knows nothing'
    ],
    [
      'lib/table/x.ts',
      "import { createTickets } from '../saves/tickets.ts'",
      'lib/table/x.ts imports lib/saves/tickets.ts: the halves know nothing'
    ],
    [
      'lib/saves/x.ts',
      "import { lockOf } from '../locks/record.ts'",
      'lib/saves/x.ts imports lib/locks/record.ts: what joins table and editions knows no locks'
    ],
    [
      'lib/saves/x.ts',
      "import { createGuardedTurns } from '../boards/guard.ts'",
      'lib/saves/x.ts imports lib/boards/guard.ts: what joins table and editions knows no locks'
    ],
    [
      'lib/drupal/x.ts',
      "import { read } from '../editions/translate/read.ts'",
      'lib/drupal/x.ts imports lib/editions/translate/read.ts: a client knows nothing'
    ],
    [
      'lib/http/x.ts',
      "import type { Document } from '../drupal/document.ts'",
      'lib/http/x.ts imports lib/drupal/document.ts: an exchange knows nothing'
    ],
    ['lib/bus/x.ts', "import { LockNotice } from '../locks/notice.ts'", 'lib/bus/x.ts imports lib/locks/notice.ts: the bus knows nothing'],
    [
      'lib/editions/translate/x.ts',
      "import type { Site } from '../site/site.ts'",
      'lib/editions/translate/x.ts imports lib/editions/site/site.ts: translation knows nothing'
    ],
    [
      'lib/editions/site/x.ts',
      "import type { Load } from '../lookup/finder.ts'",
      'lib/editions/site/x.ts imports lib/editions/lookup/finder.ts: a site knows nothing'
    ],
    [
      'lib/editions/lookup/x.ts',
      "import { list } from '../list/listing.ts'",
      'lib/editions/lookup/x.ts imports lib/editions/list/listing.ts: a look-up knows nothing'
    ],
    [
      'lib/editions/save/x.ts',
      "import type { Change } from '../editions.ts'",
      'lib/editions/save/x.ts imports lib/editions/editions.ts: the rooms know nothing'
    ],
    [
      'lib/auth/x.ts',
      "import { holderOf } from '../locks/record.ts'",
      'lib/auth/x.ts imports lib/locks/record.ts: who calls does not depend on what for'
    ],
    [
      'lib/auth/x.ts',
      "import { createEditions } from '../editions/editions.ts'",
      'lib/auth/x.ts imports lib/editions/editions.ts: who calls does not depend on what for'
    ],
    [
      'lib/auth/x.ts',
      "import { createStore } from '../table/client.ts'",
      'lib/auth/x.ts imports lib/table/client.ts: who calls does not depend on what for'
    ],
    [
      'lib/locks/x.ts',
      "import type { User } from '../auth/identity.ts'",
      'lib/locks/x.ts imports lib/auth/identity.ts: who calls is told from above'
    ],
    [
      'lib/drupal/x.ts',
      "import { drupalCheck } from '../auth/drupal.ts'",
      'lib/drupal/x.ts imports lib/auth/drupal.ts: who calls is told from above'
    ],
    ['lib/auth/x.ts', "import { Pool } from 'undici'", 'lib/auth/x.ts names undici'],
    ['lib/auth/x.ts', "const uid = 'drupal_internal__uid'", "lib/auth/x.ts has Drupal's own name drupal_internal__"],
    [
      'routes/x.ts',
      "import { answer } from '../plugins/app/errors.ts'",
      'routes/x.ts imports plugins/app/errors.ts: routes see decorators only'
    ],
    ['plugins/x.ts', "import locks from '../routes/locks.ts'", 'plugins/x.ts imports routes/locks.ts: plugins serve routes'],
    [
      'server.ts',
      "import { createCms } from './packages/drupal-stand-in/cms.ts'",
      'server.ts imports packages/drupal-stand-in/cms.ts: the stand-ins are no part'
    ],
    ['lib/x.ts', "import { createCms } from '../dev/content.ts'", 'lib/x.ts imports dev/content.ts: the stand-ins are no part'],
    ['dev/x.ts', "import { build } from '../test/helper.ts'", 'dev/x.ts imports test/helper.ts: tests are no part'],
    [
      'plugins/x.ts',
      "import { checkStore } from '../packages/setup/doctor/store.ts'",
      'plugins/x.ts imports packages/setup/doctor/store.ts: the service starts without its setup'
    ],
    [
      'lib/table/x.ts',
      "const { provision } = await import('../../packages/setup/table/provision.ts')",
      'lib/table/x.ts imports packages/setup/table/provision.ts: the service starts without its setup'
    ],
    [
      'packages/setup/survey/x.ts',
      "import { createEditions } from '../../../lib/editions/editions.ts'",
      'packages/setup/survey/x.ts imports lib/editions/editions.ts: a survey knows nothing'
    ],
    [
      'packages/setup/survey/x.ts',
      "import { checkCms } from '../doctor/cms.ts'",
      'packages/setup/survey/x.ts imports packages/setup/doctor/cms.ts: a survey knows nothing'
    ],
    [
      'packages/desk/page/x.ts',
      "import { etagOf } from '../../../lib/locks/etag.ts'",
      'packages/desk/page/x.ts imports lib/locks/etag.ts: the desk is a client'
    ],
    [
      'packages/desk/page/x.ts',
      "import { randomUUID } from 'node:crypto'",
      'packages/desk/page/x.ts imports node:crypto: the desk is a client'
    ],
    [
      'routes/x.ts',
      "import { listAddress } from '../packages/desk/page/address.ts'",
      'routes/x.ts imports packages/desk/page/address.ts: the service loads the desk at one place'
    ],
    [
      'plugins/app/desk.ts',
      "import { readSources } from '../../packages/desk/server/sources.ts'",
      'plugins/app/desk.ts imports packages/desk/server/sources.ts: the service loads the plugin of the desk alone'
    ],
    [
      'packages/desk/server/x.ts',
      "import answer from '../../../plugins/app/errors.ts'",
      'packages/desk/server/x.ts imports plugins/app/errors.ts: the server half of the desk is routes'
    ],
    [
      'packages/desk/server/x.ts',
      "import { listAddress } from '../page/address.ts'",
      'packages/desk/server/x.ts imports packages/desk/page/address.ts: the server half of the desk is routes'
    ],
    ['packages/desk/page/x.ts', "const field = 'field_publisher_x'", "packages/desk/page/x.ts has Drupal's own name field_publisher"],
    [
      'packages/react/src/x.ts',
      "import { createFeed } from '../../client/src/feed.ts'",
      'packages/react/src/x.ts imports packages/client/src/feed.ts: hooks join'
    ],
    ['packages/vue/src/x.ts', "import { h } from 'preact'", 'packages/vue/src/x.ts imports preact: hooks join'],
    [
      'packages/desk/page/x.ts',
      "import { useLock } from '../../react/src/react.ts'",
      'packages/desk/page/x.ts imports packages/react/src/react.ts: other UIs'
    ],
    [
      'packages/client/src/x.ts',
      "import { failures } from '../../../lib/errors.ts'",
      'packages/client/src/x.ts imports lib/errors.ts: a browser loads it'
    ],
    [
      'packages/client/src/x.ts',
      "import type { A } from './a.ts'\nimport { Type } from '@sinclair/typebox'",
      'packages/client/src/x.ts imports @sinclair/typebox: a browser loads it'
    ],
    [
      'packages/client/src/x.ts',
      "export { failures } from '../../../lib/errors.ts'",
      'packages/client/src/x.ts imports lib/errors.ts: a browser loads it'
    ],
    ['server.ts', "import './packages/setup/doctor.ts'", 'server.ts imports packages/setup/doctor.ts: imports point down'],
    ['config/x.ts', "import { app } from '../app.ts'", 'config/x.ts imports app.ts: imports point down'],
    ['plugins/x.ts', "import { serve } from '../server.ts'", 'plugins/x.ts imports server.ts: imports point down'],
    ['lib/editions/x.ts', "import { Pool } from 'undici'", 'lib/editions/x.ts names undici'],
    ['dev/x.ts', "const { fetch } = require('undici')", 'dev/x.ts names undici'],
    ['dev/x.ts', "import Pool from 'undici/lib/dispatcher/pool.js'", 'dev/x.ts names undici'],
    ['routes/x.ts', "const bundle = 'publisher_container'", "routes/x.ts has Drupal's own name publisher_container"],
    ['lib/drupal/x.ts', "const path = '/jsonapi/node/article'", "lib/drupal/x.ts has Drupal's own name /jsonapi/node/"],
    ['plugins/x.ts', "const field = 'field_publisher_edition_type'", "plugins/x.ts has Drupal's own name field_publisher"],
    [
      'lib/locks/x.ts',
      'export interface Placement { id: string }',
      'lib/editions/schemas.ts and lib/locks/x.ts export Placement: one name'
    ],
    ['config/x.ts', 'export async function createLocks () {}', 'lib/locks/locks.ts and config/x.ts export createLocks: one name'],
    ['lib/x.ts', 'export const UNASKED = 1', 'lib/x.ts exports UNASKED, which nothing but tests uses'],
    ['routes/x.ts', '/** unasked() */\nexport async function unasked() {}', 'routes/x.ts exports unasked, which nothing but tests uses'],
    [
      'lib/x.ts',
      'export const Unasked = Type.String()\nexport type Unasked = Static<typeof Unasked>',
      'lib/x.ts exports Unasked, which nothing but tests uses'
    ],
    ['test/x.ts', '// TO' + 'DO: later', 'test/x.ts is not finished'],
    [
      'lib/x.ts',
      "import { failureOf } from '../packages/client/test/fixtures.ts'",
      'lib/x.ts imports packages/client/test/fixtures.ts: tests are no part'
    ]
  ]
  for (const [path, text, violation] of broken) {
    const found = violations(new Map([...house, [path, text]]), [path])
    t.ok(
      found.some((line) => line.startsWith(violation)),
      `${violation}${found.length ? '' : ' was not seen'}`
    )
  }
  const circle = violations(
    new Map([
      ['lib/a.ts', "import { b } from './b.ts'"],
      ['lib/b.ts', "import { a } from './a.ts'"]
    ])
  )
  t.strictSame(circle, ['imports go in a circle: lib/a.ts > lib/b.ts > lib/a.ts'])
  const circleOfTypes = violations(
    new Map([
      ['lib/a.ts', "import type { B } from './b.ts'"],
      ['lib/b.ts', "import type { A } from './a.ts'"]
    ])
  )
  t.strictSame(circleOfTypes, circle, 'of types too')
})

t.test('what the rules allow passes', async (t) => {
  const fine: Array<[path: string, text: string]> = [
    ['lib/editions/x.ts', "import { isObject } from '../drupal/document.ts'\nconst type = 'publisher_container'"],
    ['lib/boards/x.ts', "import { createLocks } from '../locks/locks.ts'\nimport { createEditions } from '../editions/editions.ts'"],
    ['packages/setup/x.ts', "import { giveUp } from '../../server.ts'\nimport { checkStore } from './doctor/store.ts'"],
    [
      'packages/setup/doctor/x.ts',
      "import { describe } from '../table/provision.ts'\nimport { createCatalog } from '../../../lib/editions/site/catalog.ts'\nconst name = 'drupal_internal__id'"
    ],
    ['dev/x.ts', "import { serve } from '../server.ts'\nconst path = '/jsonapi/node/article'"],
    [
      'packages/client/src/x.ts',
      "import { later } from './later.ts'\nimport type {\n  LockView\n} from '../../../lib/locks/schemas.ts'\nexport type { Holder } from '../../../lib/locks/schemas.ts'"
    ],
    ['packages/desk/page/x.ts', 'export interface Placement { id: string }'],
    ['lib/auth/drupal.ts', "import { createJsonapi } from '../drupal/client.ts'\nconst uid = 'drupal_internal__uid'"],
    ['config/x.ts', "import { contentModel } from '../lib/editions/model.ts'"],
    ['routes/x.ts', "import { Failure } from '../lib/errors.ts'\nimport type { FastifyInstance } from 'fastify'"],
    [
      'packages/desk/page/x.ts',
      "import { html } from 'lit-html'\nimport { live } from 'lit-html/directives/live.js'\nimport { diffArrays } from 'diff'\nimport { EditorView } from 'prosemirror-view'\nimport { createClient } from '../../client/src/client.ts'"
    ]
  ]
  for (const [path, text] of fine) t.strictSame(violations(new Map([...house, [path, text]]), [path]), [], path)
})

t.test('npm test runs every test file once, but the slow ones and those that need a Drupal', async (t) => {
  const { include } = parse(readFileSync(`${ROOT}/.taprc`, 'utf8')) as { include: string[] }
  const started = globSync(include, { cwd: ROOT }).flatMap((path) => {
    if (!path.startsWith('test/together/')) return [path]
    const [, patterns = ''] = /^load\((.*)\)$/m.exec(readFileSync(`${ROOT}/${path}`, 'utf8')) ?? []
    return globSync(
      [...patterns.matchAll(/'([^']+)'/g)].map(([, pattern]) => pattern!),
      { cwd: ROOT }
    )
  })
  const quick = (path: string) => !path.endsWith('.slow.test.ts')
  t.strictSame(
    started.filter(quick).sort(),
    globSync(['test/*/*.test.ts', 'packages/*/test/*.test.ts'], { cwd: ROOT, exclude: ['test/drupal/**'] })
      .filter(quick)
      .sort()
  )
})
