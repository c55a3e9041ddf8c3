import { load } from './load.ts'

load('test/{bus,dynamodb,jsonapi,tickets}/*.test.ts', 'packages/drupal-stand-in/test/*.test.ts')
