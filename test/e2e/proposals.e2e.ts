import t from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { accessible, accessibleAnywhere } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, press, shows, until } from './harness.ts'

const AGENT = { uid: 'agent:planner:anna', name: 'planner (Anna)' }

t.test('a text is proposed for a field that somebody else has', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const entityOf = (id: string) => ({ type: 'publisher_container', id })

  t.test('an editor takes two pieces of three of what an agent proposes, has its field at once, and puts back what it saved', async (t) => {
    const id = await edition('The bridge opens on Monday at noon, says the mayor')
    const anna = await seat(t, 'anna')
    await openEdition(anna, id, 'The bridge opens on Monday at noon, says the mayor')
    await fieldOf(anna, 'Title').focus()
    await shows(anna.getByText('You are editing this'))
    const { locks } = client('ben')
    const agent = createClient({ url: new URL(anna.url()).origin, user: AGENT })
    const { id: proposal } = await agent.locks.propose(
      { ...entityOf(id), fieldName: 'title' },
      'The harbour bridge opens on Tuesday at noon, says the ministry',
      { base: '"a"', reason: 'The ministry says so' }
    )
    await shows(anna.getByText(/^Agent planner \(Anna\) proposes this, /))
    await shows(anna.getByText('The ministry says so'))
    await until(async () => (await anna.locator('#said').textContent()) === 'Agent planner (Anna) proposes a text for Title')
    await accessibleAnywhere(t, anna, 'a proposal')
    await anna.screenshot({ path: 'test/e2e/pictures/proposal.png', fullPage: true })
    await press(anna.locator('[data-proposal] .piece').last())
    await press(button(anna, /^Take what is chosen/))
    await hides(anna.locator('[data-proposal]'))
    t.equal(await fieldOf(anna, 'Title').inputValue(), 'The harbour bridge opens on Tuesday at noon, says the mayor')
    await until(async () => (await locks.proposals(entityOf(id))).length === 0)
    const [settled] = await agent.locks.proposals(entityOf(id), { settled: true })
    t.match(settled, { id: proposal, settled: { outcome: 'taken', by: { uid: 'anna' } } })
    await press(button(anna, 'Save changes'))
    await shows(anna.getByText('Saved.'))

    const held = await fetch(`${new URL(anna.url()).origin}/api/cloud/data-state/publisher_container/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'if-none-match': '*' },
      body: JSON.stringify({ fieldName: 'field_key', payload: 'half a key', userData: AGENT })
    })
    t.equal(held.status, 200)
    await shows(anna.getByText(/^Agent planner \(Anna\) is editing this since/))
    await press(button(anna, /^Ask for it Key/))
    await hides(anna.getByText(/^Agent planner \(Anna\) is editing this since/))
    await until(async () => await fieldOf(anna, 'Key').isEditable())
    await shows(anna.locator('[data-proposal]', { hasText: 'half a key' }))

    const { edition: read, etag } = await agent.editions.read(id)
    const saved = await agent.editions.update(id, { field_labels: [{ value: 'By the agent' }] }, { ifMatch: etag })
    await agent.editions.update(id, { title: [{ value: 'A head of the agent' }] }, { ifMatch: saved.etag })
    await client('ben').editions.update(id, { title: [{ value: 'The head of Ben' }] })
    await press(button(anna, 'History'))
    const history = anna.getByRole('region', { name: 'History' })
    for (const words of [/Text proposed for Title/, /Proposal of Agent planner \(Anna\) for Title taken/, /Text proposed for Key/]) {
      await shows(history.getByText(words))
    }
    await history.getByRole('combobox', { name: 'Done by' }).selectOption(AGENT.uid)
    await press(button(history, /^Put back what it did from here on/).last())
    await shows(history.getByText('The newest first. What somebody else has changed since'))
    await accessible(t, anna, 'the question whether to put back what an agent did')
    await anna.screenshot({ path: 'test/e2e/pictures/since.png', fullPage: true })
    await anna.keyboard.press('Tab')
    await anna.keyboard.press('Enter')
    await shows(history.getByText('1 of 2 put back.'))
    await shows(history.getByText('Ben has changed it since.'))
    await accessible(t, anna, 'what became of putting back')
    await anna.screenshot({ path: 'test/e2e/pictures/since-done.png', fullPage: true })
    const { edition: last } = await agent.editions.read(id)
    t.strictSame([last['title'], last['field_labels']], [[{ value: 'The head of Ben' }], read['field_labels']])
    await anna.keyboard.press('Escape')
    t.match(await anna.evaluate('document.activeElement.dataset.since'), /./, 'the focus goes back')
  })

  t.test('a person proposes a text, whoever has the field discards it, and the author is told', async (t) => {
    const id = await edition('Ferry')
    const [anna, ben] = [await seat(t, 'anna'), await seat(t, 'ben')]
    for (const page of [anna, ben]) await openEdition(page, id, 'Ferry')
    await fieldOf(anna, 'Title').focus()
    await press(button(ben, 'Propose a text Title'))
    await ben.getByRole('textbox', { name: 'Your proposal for Title' }).fill('Ferry timetable')
    await ben.getByRole('textbox', { name: 'Why (optional)' }).fill('It is about times')
    await accessible(t, ben, 'a proposal that is written')
    await ben.screenshot({ path: 'test/e2e/pictures/proposing.png', fullPage: true })
    await press(button(ben, 'Propose it Title'))
    await shows(ben.getByText(/^You propose this/))
    await shows(anna.getByText(/^Ben proposes this/))
    await press(button(anna, /^Discard the proposal of Ben/))
    await shows(ben.getByText('Anna has discarded your proposal for Title.'))
    await hides(ben.getByText(/^You propose this/))
    t.equal(await fieldOf(anna, 'Title').inputValue(), 'Ferry')
  })

  t.test('a proposal is there when the page is opened later, and its author withdraws it', async (t) => {
    const id = await edition('Lighthouse')
    const { locks } = client('ben')
    await locks.propose({ ...entityOf(id), fieldName: 'title' }, 'Lighthouse keeper')
    const ben = await seat(t, 'ben')
    await openEdition(ben, id, 'Lighthouse')
    await press(button(ben, /^Withdraw the proposal of Ben/))
    await hides(ben.locator('[data-proposal]'))
    await until(async () => (await locks.proposals(entityOf(id))).length === 0)
  })
})
