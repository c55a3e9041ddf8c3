import { load } from './load.ts'

load('{bus,drupal-stand-in,dynamodb,jsonapi,tickets}/*.test.ts')
