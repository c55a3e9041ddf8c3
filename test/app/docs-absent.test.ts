import { registerHooks } from 'node:module'
import t from 'tap'
import { build, buildLogged } from '../helper.ts'

/** Lets the package of the pages of /docs be found nowhere, as where nobody has installed it. */
function withoutPages(): () => void {
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier === '@fastify/swagger-ui') {
        throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' })
      }
      return nextResolve(specifier, context)
    }
  })
  return () => hooks.deregister()
}

t.test('without the package of its pages the documentation is the document alone', async (t) => {
  const withPages = await build(t)
  const documents = ['/docs/json', '/docs/yaml']
  const before = await Promise.all(documents.map((url) => withPages.inject(url)))
  t.teardown(withoutPages())
  const { app, logged } = await buildLogged(t, {})
  t.match(
    logged().filter(({ msg }) => /docs/.test(msg)),
    [
      {
        level: 30,
        msg: "The API's document is at /docs/json. Its pages at /docs need the package @fastify/swagger-ui, which is not installed: run npm run install:optional"
      }
    ]
  )
  for (const [index, url] of documents.entries()) {
    const { statusCode, headers, body } = await app.inject(url)
    t.equal(statusCode, 200, url)
    t.equal(body, before[index]!.body, `${url} is the same document`)
    t.equal(headers['content-type'], before[index]!.headers['content-type'])
    t.match(headers, { 'content-security-policy': /default-src 'none'/, 'x-frame-options': 'DENY' })
  }
  for (const url of ['/docs', '/docs/', '/docs/static/swagger-ui.css']) t.equal((await app.inject(url)).statusCode, 404, url)
  const { statusCode, headers } = await app.inject('/?a=1')
  t.match({ statusCode, headers }, { statusCode: 302, headers: { location: 'docs/json?a=1' } })
})
