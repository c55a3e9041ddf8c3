import t from 'tap'
import { createClient } from '../src/client.ts'
import { testRecipes } from './recipe-tests.ts'

await testRecipes(t, createClient)
