// Loaded before anything else (node -r), so it is written for any Node: one readable line instead of a syntax error.
'use strict'

const wanted = [22, 20]
const found = process.versions.node.split('.').map(Number)

if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  console.error(
    'Quoin needs Node ' +
      wanted.join('.') +
      ' or later; this is Node ' +
      process.versions.node +
      '. ' +
      'On Linux x64 "npm ci" brings a suitable Node along unless optional dependencies are left out (--omit=optional).'
  )
  process.exit(1)
}

// What Node has compiled is kept for the next start, which then takes two thirds of the time; where nothing can be
// written there, it is not. Not in Node's default place, which is open to every user of the machine.
require('node:module').enableCompileCache(
  require('node:path').join(__dirname, '../node_modules/.cache/node')
)
