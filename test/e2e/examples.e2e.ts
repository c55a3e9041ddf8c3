import { basename } from 'node:path'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { addExamples, projectWith } from '../../packages/client/test/packed.ts'
import { newsroom, shows, until, type Newsroom } from './harness.ts'
import { seated } from './users.ts'

const project = projectWith(t, ['react', 'vue'])
const room = await newsroom(t)

/** An example in a page of its own, as a user has it. */
async function opened(t: Test, { url, browser }: Newsroom, script: string, name: string, id: string) {
  const page = await seated(t, browser)
  const wrong: unknown[] = []
  page.on('pageerror', (error) => wrong.push(error))
  t.teardown(() => {
    if (wrong.length > 0) throw wrong[0]
  })
  const user = { uid: name.toLowerCase(), name }
  await page.route(`${url}/example`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>An example</title><div id="place"></div>' })
  )
  await page.goto(`${url}/example`)
  await page.addScriptTag({
    type: 'module',
    content: `${script}\nwindow.leave = mount(document.getElementById('place'), ${JSON.stringify({ user, entityType: 'publisher_container', id })})`
  })
  await shows(page.getByText('live', { exact: true }))
  return page
}

for (const path of addExamples(project)) {
  t.test(`${basename(path)}: a field is locked while it has the focus, kept as it is typed, and stored`, async (t) => {
    const { outputFiles } = await build({
      entryPoints: [path],
      bundle: true,
      write: false,
      format: 'esm',
      jsx: 'automatic',
      preserveSymlinks: false,
      define: {
        'process.env.NODE_ENV': '"development"',
        __VUE_OPTIONS_API__: 'true',
        __VUE_PROD_DEVTOOLS__: 'false',
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false'
      }
    })
    // What a module exports stands for itself once it is in the page.
    const script = outputFiles[0]!.text.replace(/^export \{\s*(?:(\w+) as )?mount\s*\};?$/m, (_whole, name?: string) =>
      name ? `const mount = ${name};` : ''
    )
    const before = `Before ${basename(path)}`
    const id = await room.edition(before)
    const { locks, editions } = room.client('looker')
    const title = { type: 'publisher_container', id, fieldName: 'title' }
    const textInLock = async () => (await locks.list(title)).map(({ userData, payload }) => [userData.name, payload])
    const [anna, ben] = (await Promise.all(['Anna', 'Ben'].map((name) => opened(t, room, script, name, id)))) as [
      Awaited<ReturnType<typeof opened>>,
      Awaited<ReturnType<typeof opened>>
    ]
    const [annas, bens] = [anna.getByLabel('Title'), ben.getByLabel('Title')]

    await annas.focus()
    await until(() => annas.isEditable())
    await shows(ben.getByText('Anna is editing title'))
    await bens.focus()
    await shows(ben.getByText('Anna is editing this'))
    t.equal(await bens.isEditable(), false)

    await annas.fill('Typed')
    await until(async () => String(await textInLock()) === 'Anna,Typed')
    t.match(await editions.read(id), { edition: { title: [{ value: before }] } }, 'nothing is stored yet')
    await annas.blur()
    await shows(anna.getByRole('heading', { name: 'Typed' }))
    await until(async () => (await textInLock()).length === 0)
    t.match(await editions.read(id), { edition: { title: [{ value: 'Typed' }] } })

    await shows(ben.getByRole('heading', { name: 'Typed' }))
    await editions.update(id, { title: [{ value: 'By another' }] })
    for (const page of [anna, ben]) await shows(page.getByRole('heading', { name: 'By another' }))

    await bens.blur()
    await bens.focus()
    await until(() => bens.isEditable())
    await annas.focus()
    await anna.getByRole('button', { name: 'Take over' }).click()
    await until(() => annas.isEditable())
    await shows(ben.getByText('Anna is editing title'))
    await bens.fill('Too late')
    await shows(ben.getByText('Anna is editing this'))
    t.equal(await bens.inputValue(), 'By another')
    await annas.focus()
    await annas.blur()
    await until(async () => (await textInLock()).length === 0)

    await bens.blur()
    await bens.focus()
    await until(() => bens.isEditable())
    await shows(anna.getByText('Ben is here'))
    await ben.evaluate('leave()')
    await until(async () => (await textInLock()).length === 0)
    await until(async () => (await anna.getByText('Ben is here').count()) === 0)

    await annas.focus()
    await annas.blur()
    await annas.focus()
    await until(() => annas.isEditable())
    await annas.fill('Typed, and not stored')
    await until(async () => String(await textInLock()) === 'Anna,Typed, and not stored')
    await anna.evaluate('leave()')
    await new Promise((resolve) => setTimeout(resolve, 300))
    t.strictSame(await textInLock(), [['Anna', 'Typed, and not stored']], 'a typed text stays in its lock')
    const again = await opened(t, room, script, 'Anna', id)
    await again.getByLabel('Title').focus()
    await until(async () => (await again.getByLabel('Title').inputValue()) === 'Typed, and not stored')
  })
}
