import t from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { accessible, accessibleAnywhere } from './axe.ts'
import { button, fieldOf, hides, newsroom, openEdition, press, shows, until } from './harness.ts'

const AGENT = { uid: 'agent:planner:anna', name: 'planner (Anna)' }

t.test('a text is proposed for a field that somebody else has', async (t) => {
  const { seat, edition, client } = await newsroom(t)
  const entityOf = (id: string) => ({ type: 'publisher_container', id })

  t.test('an editor takes two pieces of three of what an agent proposes, and the agent sees that it was taken', async (t) => {
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
