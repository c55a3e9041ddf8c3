// Loaded before anything else (node -r), so it is written for any Node: one readable line instead of a syntax error.
'use strict'

const wanted = [22, 20]
const found = process.versions.node.split('.').map(Number)

if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  console.error(
    'Quoin needs Node ' + wanted.join('.') + ' or later; this is Node ' + process.versions.node + '. ' +
    'On Linux x64 "npm ci" brings a suitable Node along unless optional dependencies are left out (--omit=optional).'
  )
  process.exit(1)
}
