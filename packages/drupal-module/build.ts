import { buildModule } from './build-module.ts'

// `node packages/drupal-module/build.ts <folder>`: makes the module, to be copied into a Drupal.

const [folder] = process.argv.slice(2)
if (!folder) {
  throw new Error(
    'Name the folder to make the module in: node packages/drupal-module/build.ts <folder>'
  )
}
buildModule(folder)
