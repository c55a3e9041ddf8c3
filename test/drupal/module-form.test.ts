import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import t from 'tap'
import { renewKey } from '../../packages/setup/drupal-key.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { control, line, notes, press, says, startFormSite, until } from './form.ts'
import { as, signIn } from './quoin.ts'
import type { Site } from './site.ts'

/** A field of the desk. */
const deskField = (name: string) => `[data-field="${name}"]`

/** What Drupal and Quoin sign by what they tell each other. */
const SECRET = 's'.repeat(32)

/** The same members in the order of their names. */
const sorted = async (texts: object | Promise<object>) => Object.entries(await texts).sort()

t.test("Drupal's edit form beside the desk", { timeout: 1_200_000 }, async (t) => {
  const { site, node, texts, form, desk, locks, reset, quoin, stopQuoin } = await startFormSite(t, {
    env: () => ({ CMS_MODULE_SECRET: SECRET }),
    settings: { secret: SECRET }
  })
  t.beforeEach(reset)

  await t.test('a lock is seen both ways, with who has it, and given back when nothing is typed', async (t) => {
    const editor = await form(t, 'editor')
    const ben = await desk(t, 'ben')
    await control(editor, 'title[0][value]').fill('Typed in Drupal')
    await says(notes(editor, 'title'), /^You are editing this, kept/)
    await says(ben.locator(deskField('title')), /editor is editing this since/)
    t.equal((await texts())['title editor'], 'Typed in Drupal')

    await ben.locator('#field-field_key').focus()
    await says(notes(editor, 'field_key'), /Ben is editing this since/)
    await says(line(editor), 'Ben is editing Key.')
    t.equal(await control(editor, 'field_key[0][value]').isEditable(), false)
    await ben.locator('#field-field_key').blur()
    await until(async () => (await notes(editor, 'field_key').innerText()) === '')
    await says(line(editor), 'Looking on: Ben')
    t.equal(await control(editor, 'field_key[0][value]').isEditable(), true)

    const title = control(editor, 'title[0][value]')
    await title.fill('Harbour bridge to open')
    t.equal('title editor' in (await texts()), true, 'as long as it has the focus')
    await title.blur()
    await until(async () => !('title editor' in (await texts())))
    await until(async () => !/is editing/.test(await ben.locator(deskField('title')).innerText()))
  })

  await t.test('text is kept when the desk takes a field over, and when the form does', async (t) => {
    const editor = await form(t, 'editor')
    const ben = await desk(t, 'ben')
    const title = control(editor, 'title[0][value]')
    await title.fill('Mine')
    await says(notes(editor, 'title'), /kept/)
    await ben
      .locator(deskField('title'))
      .getByRole('button', { name: /^Take over/ })
      .click()
    await says(notes(editor, 'title'), /Ben is editing this/)
    await says(notes(editor, 'title'), /You had typed “Mine”/)
    t.equal(await title.inputValue(), 'Harbour bridge to open', 'the form has what is saved')
    await ben.locator('#field-title').fill('His')
    await until(async () => (await texts())['title Ben'] === 'His')

    await press(editor, 'title', 'Take over')
    await says(ben.locator('main'), /editor took over Title/)
    await says(ben.locator('main'), /His/)
    await press(editor, 'title', 'Restore')
    t.equal(await title.inputValue(), 'Mine')
    await until(async () => (await texts())['title editor'] === 'Mine')
    await until(async () => (await locks('2', '').drafts(node)).length === 0)
    t.match(await locks('ben', '').drafts(node), [{ fieldName: 'title', payload: 'His' }])
  })

  await t.test('what no lock can hold stays in the form at a takeover, and is locked again afterwards', async (t) => {
    const editor = await form(t, 'editor')
    const story = control(editor, 'field_stories[2][target_id]')
    await story.fill('Artic')
    await until(async () => 'field_stories editor' in (await texts()))
    const held = await locks('ben', 'Ben').overwrite({ ...node, fieldName: 'field_stories' })
    await says(notes(editor, 'field_stories'), /Ben is editing this/)
    t.equal(await story.inputValue(), 'Artic')
    await held.release()
    await says(notes(editor, 'field_stories'), /^You are editing this/)
    t.equal(await story.inputValue(), 'Artic')
  })

  await t.test('who wants a field asks for it, and its holder hands it over', async (t) => {
    const editor = await form(t, 'editor')
    const ben = await desk(t, 'ben')
    await control(editor, 'field_note[0][value]').fill('Mine')
    await ben
      .locator(deskField('field_note'))
      .getByRole('button', { name: /^Ask for it/ })
      .click()
    await says(notes(editor, 'field_note'), /Ben asks for this/)
    await press(editor, 'field_note', 'Hand over')
    await until(async () => !('field_note editor' in (await texts())))
    await says(notes(editor, 'field_note'), /You had typed “Mine”/)

    await ben.locator('#field-field_note').fill('His')
    await says(notes(editor, 'field_note'), /Ben is editing this/)
    await press(editor, 'field_note', 'Ask for it')
    await says(ben.locator(deskField('field_note')), /editor asks for this/)
    await press(editor, 'field_note', 'Withdraw')
    await until(async () => !/asks for this/.test(await ben.locator(deskField('field_note')).innerText()))
  })

  await t.test('what is typed is offered again after a crash, in every kind of field', async (t) => {
    const editor = await form(t, 'editor')
    await control(editor, 'title[0][value]').fill('Typed before the crash')
    await editor.locator('.ck-editor__editable').click()
    await editor.keyboard.press('Control+End')
    await editor.keyboard.type(' New.')
    await control(editor, 'field_place').selectOption('world')
    await control(editor, 'field_topics[world]').check()
    await control(editor, 'field_lead[value]').uncheck()
    await control(editor, 'field_day[0][value][date]').fill('2026-12-01')
    await control(editor, 'field_at[0][value][time]').fill('13:30:00')
    await control(editor, 'field_source[0][uri]').fill('/node/1')
    await control(editor, 'field_marks[2][value]').fill('web')
    await control(editor, 'field_stories[2][target_id]').fill('Article 3 (3)')
    const typed = {
      'title editor': 'Typed before the crash',
      'field_intro editor': '<p>The <strong>old</strong> bridge. New.</p>',
      'field_place editor': 'world',
      'field_topics editor': 'home\nworld\nsport',
      'field_lead editor': 'false',
      'field_day editor': '2026-12-01',
      'field_at editor': '2026-10-06T13:30:00',
      'field_source editor': 'internal:/node/1',
      'field_marks editor': 'print\ne-paper\nweb',
      'field_stories editor': '1 2 3'
    }
    await until(async () => JSON.stringify(await sorted(texts())) === JSON.stringify(await sorted(typed)))
    await editor.context().close()

    const again = await form(t, 'editor')
    const fields = Object.keys(typed).map((key) => key.split(' ')[0]!)
    for (const field of fields) {
      await says(notes(again, field), /^You had typed/)
      await press(again, field, 'Restore')
      await says(notes(again, field), /^You are editing this/)
    }
    t.equal(await control(again, 'title[0][value]').inputValue(), 'Typed before the crash')
    t.equal(await again.locator('.ck-editor__editable').innerText(), 'The old bridge. New.')
    t.equal(await control(again, 'field_stories[2][target_id]').inputValue(), '3 (3)')
    await again.locator('[data-drupal-selector="edit-submit"]').click()
    await again.waitForURL(/\/node\/\d+$/)
    await until(async () => Object.keys(await texts()).length === 0)
    const saved = JSON.parse(
      await site.php(`$node = \\Drupal\\node\\Entity\\Node::load(${node.id});
      return [$node->label(), $node->field_intro->value, $node->field_place->value, $node->field_topics->getString(), $node->field_lead->value,
        $node->field_day->value, $node->field_at->value, $node->field_source->uri, $node->field_marks->getString(), $node->field_stories->getString()];`)
    )
    t.strictSame(saved, [
      'Typed before the crash',
      '<p>The <strong>old</strong> bridge. New.</p>',
      'world',
      'home, world, sport',
      '0',
      '2026-12-01',
      '2026-10-06T11:30:00',
      'internal:/node/1',
      'print, e-paper, web',
      '1, 2, 3'
    ])
  })

  await t.test('a form that Drupal refuses comes back with its locks; one that is saved has none', async (t) => {
    const editor = await form(t, 'editor')
    const save = () => editor.locator('[data-drupal-selector="edit-submit"]').click()
    await control(editor, 'title[0][value]').fill('Refused at first')
    await control(editor, 'field_source[0][uri]').fill('no address')
    await says(notes(editor, 'field_source'), /kept/)
    await save()
    await says(editor.locator('[data-drupal-messages]'), /Error message/)
    await says(notes(editor, 'title'), /^You are editing this/)
    await says(notes(editor, 'field_source'), /^You are editing this/)
    await until(async () => (await texts())['title editor'] === 'Refused at first')

    const ben = locks('ben', 'Ben')
    await ben.overwrite({ ...node, fieldName: 'field_source' })
    await says(notes(editor, 'field_source'), /Ben is editing this/)
    t.equal(await control(editor, 'field_source[0][uri]').inputValue(), '/node/1', 'what is saved, not what was refused')
    await save()
    await editor.waitForURL(/\/node\/\d+$/)
    await until(async () => !('title editor' in (await texts())))
    t.equal(await titleIn(site, node.id), 'Refused at first')
  })

  await t.test('a save at the desk is told in the form, which then gets the new state', async (t) => {
    const editor = await form(t, 'editor')
    const ben = await desk(t, 'ben')
    await control(editor, 'field_note[0][value]').fill('Not saved yet')
    await says(notes(editor, 'field_note'), /kept/)
    await ben.locator('#field-field_key').fill('issue-2')
    await ben.getByRole('button', { name: 'Save changes' }).click()
    await says(line(editor), /has saved Key\. Drupal takes no save of this form any more\./)
    await line(editor).getByRole('button', { name: 'Load the form again' }).click()
    await says(notes(editor, 'field_note'), /^You had typed “Not saved yet”/)
    t.equal(await control(editor, 'field_key[0][value]').inputValue(), 'issue-2')
    await press(editor, 'field_note', 'Discard')
    await until(async () => Object.keys(await texts()).length === 0)
    await says(notes(editor, 'field_note'), /^$/)
  })

  await t.test('a save in the form is told at the desk', async (t) => {
    const ben = await desk(t, 'ben')
    const editor = await form(t, 'editor')
    await control(editor, 'field_key[0][value]').fill('issue-3')
    await says(notes(editor, 'field_key'), /kept/)
    await says(ben.locator(deskField('field_key')), /editor is editing this/)
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await editor.waitForURL(/\/node\/\d+$/)
    const told = Date.now()
    await until(async () => (await ben.locator('#field-field_key').inputValue()) === 'issue-3')
    t.comment(`the desk shows it after ${Date.now() - told} ms`)
    await until(async () => !/is editing this/.test(await ben.locator(deskField('field_key')).innerText()))
  })

  await t.test('a save over a lock is refused with who has it; its text is saved once the field is taken over', async (t) => {
    const editor = await form(t, 'editor')
    // The browser reaches no Quoin, and Drupal does.
    await editor.route(`${quoin}/**`, (route) => route.abort())
    await editor.reload()
    await control(editor, 'title[0][value]').fill('Over his')
    await locks('ben', 'Ben').acquire({ ...node, fieldName: 'title' }, { payload: 'His' })
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await says(editor.locator('[data-drupal-messages]'), /Ben/)
    await editor.unroute(`${quoin}/**`)
    await says(notes(editor, 'title'), /Ben is editing this/)
    t.equal(await control(editor, 'title[0][value]').inputValue(), 'Over his', 'what was typed stays')
    t.equal(await control(editor, 'title[0][value]').isEditable(), false)
    t.not(await titleIn(site, node.id), 'Over his')

    await press(editor, 'title', 'Take over')
    await until(async () => (await texts())['title editor'] === 'Over his')
    t.match(await locks('ben', '').drafts(node), [{ fieldName: 'title', payload: 'His' }])
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await editor.waitForURL(/\/node\/\d+$/)
    t.equal(await titleIn(site, node.id), 'Over his')
  })

  await t.test('who may saves over a lock from the form that was refused', async (t) => {
    await site.php("user_role_grant_permissions('editor', ['save over locks by quoin']);")
    const editor = await form(t, 'editor')
    await editor.route(`${quoin}/**`, (route) => route.abort())
    await editor.reload()
    await control(editor, 'title[0][value]').fill('Saved over')
    await locks('ben', 'Ben').acquire({ ...node, fieldName: 'title' })
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await says(editor.locator('[data-drupal-messages]'), /Ben/)
    await editor.unroute(`${quoin}/**`)
    await says(notes(editor, 'title'), /Ben is editing this/)
    await control(editor, 'quoin_save_over').check()
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await editor.waitForURL(/\/node\/\d+$/)
    t.equal(await titleIn(site, node.id), 'Saved over')
  })

  await t.test('what another has cannot be changed, and is sent with the form', async (t) => {
    const ben = locks('ben', 'Ben')
    const fields = ['field_intro', 'field_place', 'field_topics', 'field_lead', 'field_marks', 'field_photo']
    for (const fieldName of fields) await ben.acquire({ ...node, fieldName })
    const editor = await form(t, 'editor')
    for (const field of fields) await says(notes(editor, field), /Ben is editing this/)
    const before = await valuesIn(editor)
    await editor.locator('.ck-editor__editable[contenteditable=false]').click()
    await editor.keyboard.type('x')
    await control(editor, 'field_place').focus()
    await editor.keyboard.press('ArrowDown')
    await control(editor, 'field_topics[world]').click({ force: true })
    await control(editor, 'field_lead[value]').focus()
    await editor.keyboard.press('Space')
    await control(editor, 'field_marks[0][value]').click()
    await editor.keyboard.type('x')
    await control(editor, 'field_marks_add_more').click({ force: true })
    await editor.waitForTimeout(1500)
    t.strictSame(await valuesIn(editor), before)
    t.equal(await control(editor, 'field_marks[4][value]').count(), 0)
    t.match(await control(editor, 'field_lead[value]').getAttribute('aria-describedby'), /quoin-field_lead/)

    await control(editor, 'title[0][value]').fill('Saved beside Ben')
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await editor.waitForURL(/\/node\/\d+$/)
    const lead = await site.php(
      `$node = \\Drupal\\node\\Entity\\Node::load(${node.id}); return [$node->field_lead->value, $node->field_topics->getString(), $node->field_marks->getString()];`
    )
    t.strictSame(JSON.parse(lead), ['0', 'home, world, sport', 'print, e-paper, web'])
  })

  await t.test('AJAX that adds and removes rows loses no binding, and counts as typing', async (t) => {
    const editor = await form(t, 'editor')
    await control(editor, 'field_note[0][value]').fill('Typed before')
    await control(editor, 'field_marks_add_more').click()
    await control(editor, 'field_marks[4][value]').fill('last')
    await until(async () => (await texts())['field_marks editor'] === 'print\ne-paper\nweb\nlast')
    await says(notes(editor, 'field_marks'), /^You are editing this/)
    t.equal((await texts())['field_note editor'], 'Typed before')
    await editor.locator('[data-quoin-field=field_marks] [name$="_0_remove_button"]').click()
    await until(async () => (await texts())['field_marks editor'] === 'e-paper\nweb\nlast')
    await says(notes(editor, 'field_marks'), /^You are editing this/)

    await control(editor, 'field_note[0][value]').fill('One\nTwo')
    await control(editor, 'field_key[0][value]').focus()
    await until(async () => !('field_note editor' in (await texts())))
  })

  await t.test('a preview keeps the locks', async (t) => {
    const editor = await form(t, 'editor')
    await control(editor, 'title[0][value]').fill('Previewed')
    await says(notes(editor, 'title'), /kept/)
    await editor.locator('[data-drupal-selector="edit-preview"]').click()
    await editor.locator('.node-preview-backlink').click()
    await says(notes(editor, 'title'), /^You are editing this/)
    t.equal(await control(editor, 'title[0][value]').inputValue(), 'Previewed')
    await until(async () => (await texts())['title editor'] === 'Previewed')
  })

  await t.test('what changes is said to who does not see it, as text, and nothing moves', async (t) => {
    const editor = await form(t, 'editor')
    await until(async () => (await locks('3', 'editor2').list(node)).length === 0 && (await line(editor).count()))
    const places = () =>
      editor.evaluate<string>(
        `JSON.stringify([...document.querySelectorAll('form[data-quoin-form] :is(input, select, textarea, .ck-editor)')].map((each) => each.getBoundingClientRect().top))`
      )
    await editor.locator('.ck-editor__editable').waitFor()
    const before = await places()
    const name = '<img src="none" onerror="window.broken = true">Ben'
    const ben = locks('ben', name)
    const held = await ben.acquire({ ...node, fieldName: 'title' })
    await ben.attend(node)
    await says(editor.locator('#drupal-live-announce'), `${name} is editing Title`)
    await says(notes(editor, 'title'), `${name} is editing this`)
    await control(editor, 'field_key[0][value]').fill('typed')
    await says(notes(editor, 'field_key'), /kept/)
    t.equal(await places(), before)
    await ben.overwrite({ ...node, fieldName: 'field_key' })
    await says(editor.locator('#drupal-live-announce'), /took over Key. What you had typed is kept\./)
    await held.release()
    await says(editor.locator('#drupal-live-announce'), 'has let go of Title')
    t.equal(await editor.evaluate('window.broken'), undefined, 'a name is no markup')
  })

  await t.test('with the keyboard alone a field is taken over, changed and saved', async (t) => {
    await locks('ben', 'Ben').acquire({ ...node, fieldName: 'title' })
    const editor = await form(t, 'editor')
    await says(notes(editor, 'title'), /Ben is editing this/)
    await control(editor, 'title[0][value]').focus()
    await editor.keyboard.press('Tab')
    await editor.keyboard.press('Enter')
    await says(notes(editor, 'title'), /asked/)
    await editor.keyboard.press('Tab')
    await editor.keyboard.press('Enter')
    await says(notes(editor, 'title'), /^You are editing this/)
    await editor.keyboard.press('Control+A')
    await editor.keyboard.type('By keys')
    await editor.locator('[data-drupal-selector="edit-submit"]').press('Enter')
    await editor.waitForURL(/\/node\/\d+$/)
    t.equal(await titleIn(site, node.id), 'By keys')
  })

  await t.test('other forms of entities have locks too, those of new ones and of deletions have not', async (t) => {
    const admin = await form(t, 'admin')
    for (const [path, key] of [
      ['/taxonomy/term/1/edit', 'taxonomy_term:1'],
      ['/user/2/edit', 'user:2'],
      [`/node/${node.id}/delete`, null],
      ['/node/add/issue', null]
    ] as const) {
      await admin.goto(new URL(path, admin.url()).href)
      await admin.locator('[data-drupal-selector="edit-submit"]').waitFor()
      t.equal(await admin.evaluate(`document.querySelector('[data-quoin-form]')?.dataset.quoinForm ?? null`), key, path)
    }
    await admin.goto(new URL('/taxonomy/term/1/edit', admin.url()).href)
    await control(admin, 'name[0][value]').fill('Politics today')
    await says(notes(admin, 'name'), /kept/)
    t.match(await locks('3', 'editor2').list({ type: 'taxonomy_term', id: '1' }), [{ fieldName: 'name', payload: 'Politics today' }])
  })

  await t.test('without Quoin, and without JavaScript, the form works as before', async (t) => {
    const plain = await form(t, 'editor', { javaScriptEnabled: false })
    await control(plain, 'title[0][value]').fill('Without JavaScript')
    await plain.locator('[data-drupal-selector="edit-submit"]').click()
    await plain.waitForURL(/\/node\/\d+$/)
    t.equal(await titleIn(site, node.id), 'Without JavaScript')

    const start = await stopQuoin()
    const editor = await form(t, 'editor')
    await control(editor, 'title[0][value]').fill('Without Quoin')
    await says(line(editor), 'Quoin does not answer: the others do not see what you edit.')
    t.equal(await notes(editor, 'title').innerText(), '')
    await editor.locator('[data-drupal-selector="edit-submit"]').click()
    await editor.waitForURL(/\/node\/\d+$/)
    t.equal(await titleIn(site, node.id), 'Without Quoin')

    for (const [what, answer, said] of [
      ['slow', () => new Promise<void>(() => {}), ''],
      [
        'not for this user',
        (route) => route.fulfill({ status: 401, json: { code: 'UNAUTHENTICATED', message: 'no' } }),
        /does not let you lock/
      ],
      ['something else', (route) => route.fulfill({ status: 200, body: 'a page' }), /does not answer/]
    ] as Array<[string, (route: Route) => Promise<void>, string | RegExp]>) {
      const page = await form(t, 'editor')
      await page.route(`${quoin}/**`, answer)
      await page.reload()
      await control(page, 'title[0][value]').fill(`Quoin is ${what}`)
      await until(async () => (await line(page).innerText()).match(said))
      t.equal(await notes(page, 'title').innerText(), '')
      await page.locator('[data-drupal-selector="edit-submit"]').click()
      await page.waitForURL(/\/node\/\d+$/)
      t.equal(await titleIn(site, node.id), `Quoin is ${what}`)
    }

    const again = await form(t, 'editor')
    await control(again, 'title[0][value]').fill('Typed meanwhile')
    await says(line(again), /does not answer/)
    await start()
    await until(async () => (await texts())['title editor'] === 'Typed meanwhile')
    await says(notes(again, 'title'), /^You are editing this, kept/)
    await until(async () => (await line(again).innerText()) === '')

    appendFileSync(join(site.root, 'sites/default/settings.php'), "\n$settings['quoin'] = [];\n")
    await until(async () => {
      await again.goto(again.url())
      return (await again.locator('[data-quoin-form]').count()) === 0
    })
    t.equal(await line(again).count(), 0, 'without its address there is none of it')
  })
})

t.test('with AUTH=drupal the form is known by its session, on one host', { timeout: 600_000 }, async (t) => {
  const { node, texts, form, locks } = await startFormSite(t, {
    isShared: true,
    env: () => ({ AUTH: 'drupal', CMS_AUTH: 'passthrough', CMS_USER: '', CMS_PASSWORD: '' }),
    headersOf: as
  })
  const editor = await form(t, 'editor')
  await control(editor, 'title[0][value]').fill('By the session')
  await says(notes(editor, 'title'), /kept/)
  t.strictSame(await texts(), { 'title editor': 'By the session' })
  await locks('3', 'editor2').acquire({ ...node, fieldName: 'field_key' })
  await says(notes(editor, 'field_key'), /editor2 is editing this/)
  await editor.locator('[data-drupal-selector="edit-submit"]').click()
  await editor.waitForURL(/\/node\/\d+$/)
  await until(async () => !('title editor' in (await texts())))
})

t.test('with AUTH=jwt the form is known by a token of Drupal, which it fetches anew', { timeout: 600_000 }, async (t) => {
  const key = join(emptyDirectory(t), 'key.json')
  await renewKey(key, Date.now())
  const { node, texts, form, locks } = await startFormSite(t, {
    env: (drupal) => ({ AUTH: 'jwt', AUTH_KEYS: `${drupal}/quoin/jwks`, AUTH_ISSUER: 'drupal', AUTH_AUDIENCE: 'quoin' }),
    settings: { key_file: key },
    async headersOf(name, site) {
      const answer = await fetch(`${site.url}/quoin/token`, { headers: await signIn(site, name) })
      return { authorization: `Bearer ${((await answer.json()) as { token: string }).token}` }
    }
  })
  const editor = await form(t, 'editor')
  let tokens = 0
  await editor.route('**/quoin/token', async (route) => {
    tokens++
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), expires: Date.now() / 1000 + 62 } })
  })
  await editor.reload()
  await control(editor, 'title[0][value]').fill('By a token')
  await says(notes(editor, 'title'), /kept/)
  t.strictSame(await texts(), { 'title editor': 'By a token' })
  await locks('3', 'editor2').acquire({ ...node, fieldName: 'field_key' })
  await says(notes(editor, 'field_key'), /editor2 is editing this/)
  t.equal(tokens, 1, 'all requests go with one')
  await editor.waitForTimeout(2500)
  await control(editor, 'title[0][value]').fill('By another one')
  await until(async () => (await texts())['title editor'] === 'By another one')
  t.equal(tokens, 2, 'before it ends it is fetched anew')
  // Playwright holds the last requests of a page whose requests it may change.
  await editor.unroute('**/quoin/token')
  await editor.locator('[data-drupal-selector="edit-submit"]').click()
  await editor.waitForURL(/\/node\/\d+$/)
  await until(async () => !('title editor' in (await texts())))
})

t.test('a translation is locked apart where the site says so, but for what all languages share', { timeout: 600_000 }, async (t) => {
  const { site, node, form, locks } = await startFormSite(t, { settings: { lock_languages: ['fr'] } })
  await site.php(`
    \\Drupal::service('module_installer')->install(['content_translation']);
    \\Drupal::service('content_translation.manager')->setEnabled('node', 'issue', TRUE);
    foreach (['field_key', 'field_note'] as $name) {
      \\Drupal\\field\\Entity\\FieldConfig::loadByName('node', 'issue', $name)->setTranslatable($name === 'field_note')->save();
    }
    user_role_grant_permissions('editor', ['translate any entity', 'update content translations']);
    drupal_flush_all_caches();
    \\Drupal\\node\\Entity\\Node::load(${node.id})->addTranslation('fr', ['title' => 'Un pont'])->save();`)
  const editor = await form(t, 'editor')
  await editor.goto(new URL(`/fr/node/${node.id}/edit`, editor.url()).href)
  for (const name of ['title', 'field_key', 'field_note']) await control(editor, `${name}[0][value]`).fill('En français')
  for (const name of ['title', 'field_key', 'field_note']) await says(notes(editor, name), /kept/)
  const names = async (id: string) => (await locks('3', '').list({ type: 'node', id })).map(({ fieldName }) => fieldName)
  t.strictSame([await names(`${node.id}:fr`), await names(node.id)], [['field_note', 'title'], ['field_key']])
  await locks('ben', 'Ben').overwrite({ type: 'node', id: `${node.id}:fr`, fieldName: 'title' })
  await says(notes(editor, 'title'), /Ben is editing this/)
  await locks('ben', 'Ben').overwrite({ ...node, fieldName: 'field_key' })
  await says(notes(editor, 'field_key'), /Ben is editing this/)
})

const titleIn = async (site: Site, id: string) =>
  JSON.parse(await site.php(`return \\Drupal\\node\\Entity\\Node::load(${id})->label();`)) as string

/** What the form would send. */
const valuesIn = (page: Page) =>
  page.evaluate<string>(
    `JSON.stringify([...new FormData(document.querySelector('form[data-quoin-form]'))].filter(([name]) => /^(field|title)/.test(name)))`
  )
