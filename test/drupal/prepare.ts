/**
 * Gets the Drupal tree and installs every variant, so that a suite starts at once; ends with 1 and the reason when
 * that cannot be done here.
 */
import { snapshot } from './snapshot.ts'
import { findTree } from './tree.ts'
import { magazine } from './magazine.ts'
import { nodes } from './nodes.ts'
import { strange } from './strange.ts'
import { umami } from './umami.ts'
import { recipeOf, variants, type Variant } from './variants.ts'

try {
  const tree = await findTree()
  console.log(`Drupal ${tree.version} in ${tree.base}`)
  for (const recipe of [...(Object.keys(variants) as Variant[]).map(recipeOf), strange, nodes, umami, magazine]) {
    const start = Date.now()
    await snapshot(recipe, tree)
    console.log(`site "${recipe.id}" installed, ${((Date.now() - start) / 1000).toFixed(1)} s`)
  }
} catch (error) {
  console.error(`No Drupal site for tests: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
