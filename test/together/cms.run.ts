import { load } from './load.ts'

load('{jsonapi,drupal-stand-in}/*.test.ts')
