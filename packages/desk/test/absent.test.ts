import { registerHooks } from 'node:module'
import t from 'tap'
import { buildLogged } from '../../../test/helper.ts'

/** Makes the import of the desk fail, as Node does where its package was removed. */
function withoutDesk(error: Error): () => void {
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.endsWith('packages/desk/server/desk.ts')) throw error
      return nextResolve(specifier, context)
    }
  })
  return () => hooks.deregister()
}

t.test('without its package Quoin starts, and says in one line that there is no desk', async (t) => {
  t.teardown(withoutDesk(Object.assign(new Error('Cannot find module packages/desk/server/desk.ts'), { code: 'ERR_MODULE_NOT_FOUND' })))
  const { app, logged } = await buildLogged(t, { DESK: 'on' })
  for (const url of ['/desk', '/desk/', '/favicon.ico', '/api/desk/me']) t.equal((await app.inject(url)).statusCode, 404, url)
  t.equal((await app.inject('/')).headers.location, 'docs')
  t.equal((await app.inject('/health/live')).statusCode, 200)
  const lines = logged().filter(({ level }) => level >= 40)
  t.match(lines, [{ msg: /^DESK=on, but Quoin starts without the desk, which is not installed: Cannot find module/ }])
  t.equal(lines.length, 1)
})

t.test('a desk that is there, but cannot be loaded, ends the start', async (t) => {
  t.teardown(withoutDesk(new SyntaxError('Unexpected token')))
  await t.rejects(buildLogged(t, { DESK: 'on' }), { message: 'Unexpected token' })
})
