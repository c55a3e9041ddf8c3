import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import lock from '../../package-lock.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { ofImage, type Package } from './fixtures/image.ts'

// What .ci/run checks: `npm run sbom` prints CycloneDX 1.5, with every package that the image has and no other.

interface Component {
  'bom-ref': string
  type: string
  name: string
  version: string
  purl: string
  hashes?: Array<{ alg: string; content: string }>
  licenses?: Array<{ license?: { id?: string }; expression?: string }>
}

const bom = JSON.parse(execFileSync('npm', ['run', '--silent', 'sbom'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }))
const components: Component[] = bom.components

assert.deepEqual({ format: bom.bomFormat, spec: bom.specVersion, version: bom.version }, { format: 'CycloneDX', spec: '1.5', version: 1 })
assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
assert.equal(bom.metadata.component.purl, `pkg:npm/${manifest.name}@${manifest.version}`)

for (const { 'bom-ref': ref, type, name, version, purl, hashes = [], licenses = [] } of components) {
  assert.equal(type, 'library', ref)
  assert.equal(purl, `pkg:npm/${name.replace('@', '%40')}@${version}`, ref)
  assert.ok(
    hashes.some(({ alg, content }) => alg === 'SHA-512' && /^[0-9a-f]{128}$/.test(content)),
    `${ref} has no hash`
  )
  assert.ok(
    licenses.length > 0 && licenses.every(({ license, expression }) => license?.id ?? expression),
    `${ref} has no licence by its SPDX id`
  )
}
const refs = [bom.metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]
assert.equal(new Set(refs).size, refs.length, 'a reference stands for one component')
for (const { ref, dependsOn } of bom.dependencies) {
  for (const each of [ref, ...dependsOn]) assert.ok(refs.includes(each), `${each} is no component`)
}

const packages = lock.packages as Record<string, Package>
const locked = ofImage.map((path) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${packages[path]!.version}`)
assert.deepEqual(components.map(({ name, version }) => `${name}@${version}`).sort(), [...new Set(locked)].sort())

const names = components.map(({ name }) => name)
const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
for (const name of named) assert.ok(names.includes(name), `${name} is not in it`)
for (const name of Object.keys(manifest.devDependencies)) {
  assert.ok(!names.includes(name) || locked.some((each) => each.startsWith(`${name}@`)), `${name} is for development alone`)
}

console.log(`${components.length} packages, among them the ${named.length} that package.json names`)
