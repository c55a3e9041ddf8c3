import t from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { testRecipes } from './recipe-tests.ts'

await testRecipes(t, createClient)
