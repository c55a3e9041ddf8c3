import t from 'tap'
import { enableModule } from './module.ts'
import { quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

t.test('a permission of the module lets filters find what its account may view', { timeout: 600_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  await site.php('publishing_set_filter_hook(FALSE);')
  await enableModule(site)
  const editor = await signIn(site, 'editor')
  const found = async (path: string) => {
    const response = await fetch(`${site.url}${path}`, { headers: editor })
    return ((await response.json()) as { data?: unknown[] }).data?.length
  }
  const unpublished = '/jsonapi/publisher_container/daily?filter[status]=0'
  t.equal(await found(unpublished), 0, 'without the permission core finds nothing')

  await site.php("user_role_grant_permissions('editor', ['filter all entities by quoin']);")
  t.equal(await found(unpublished), 9)
  t.equal(await found('/jsonapi/user/user?filter[status]=0'), undefined, 'it lets nobody filter accounts')
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const list = await quoin(service, editor, 'GET', '/api/collections/daily?status=0&limit=50&total=1')
  t.match(list, { status: 200, body: { meta: { total: 9 } } })
})
