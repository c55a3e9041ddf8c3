import type { RunningSite } from './site.ts'
import { signIn } from './quoin.ts'

/** An edit form of Drupal as a browser has it. */
export interface Form {
  /** The names and values that it would send now, but for its buttons. */
  values: Record<string, string>
  /** The buttons, by their labels. */
  buttons: Record<string, string>
  action: string
}

/** What became of a form that was sent. */
export interface Submitted {
  status: number
  /** Where it leads: to the page of what was saved, or back to the form. */
  location: string | undefined
  /** The texts of its messages, of errors above all. */
  messages: string
  html: string
  /** The form as it came back, where it was refused. */
  form: Form | undefined
  ms: number
}

/** A browser in which a user is signed in, for Drupal's own forms, without JavaScript. */
export async function openBrowser({ url }: Pick<RunningSite<unknown>, 'url'>, user: string) {
  const { cookie } = (await signIn({ url }, user)) as { cookie: string }

  async function open(path: string): Promise<Form> {
    const response = await fetch(url + path, { headers: { cookie } })
    const form = formIn(await response.text())
    if (!form) throw new Error(`no form at ${path}: ${response.status}`)
    return form
  }

  /** @param button its label; by default the first that saves, which may say of what */
  async function submit({ action, values, buttons }: Form, changes: Record<string, string>, button?: string): Promise<Submitted> {
    const label = button ?? Object.keys(buttons).find((label) => label.startsWith('Save')) ?? ''
    const began = performance.now()
    const response = await fetch(new URL(action, url), {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie },
      body: new URLSearchParams({ ...values, ...changes, [buttons[label] ?? 'op']: label })
    })
    const html = await response.text()
    const location = response.headers.get('location') ?? undefined
    return { status: response.status, location, messages: messagesIn(html), html, form: formIn(html), ms: performance.now() - began }
  }

  return { open, submit, edit: async (path: string, changes: Record<string, string>) => submit(await open(path), changes) }
}

/** The first form with a token of Drupal's that is no search. */
function formIn(html: string): Form | undefined {
  const forms = [...html.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)]
  const [, attributes = '', content = ''] = forms.find(([, , content]) => content!.includes('name="form_token"')) ?? []
  if (content === '') return undefined
  const form: Form = { values: {}, buttons: {}, action: attributeIn(attributes, 'action') ?? '' }
  for (const [, attributes] of content.matchAll(/<input\b([^>]*)>/g)) takeInput(form, attributes!)
  for (const [, attributes, text] of content.matchAll(/<textarea\b([^>]*)>(.*?)<\/textarea>/gs)) {
    form.values[attributeIn(attributes!, 'name')!] = decoded(text!.replace(/^\n/, ''))
  }
  for (const [, attributes, options] of content.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)) {
    const chosen = /<option\b([^>]*\sselected\b[^>]*)>/.exec(options!) ?? /<option\b([^>]*)>/.exec(options!)
    if (chosen) form.values[attributeIn(attributes!, 'name')!] = attributeIn(chosen[1]!, 'value') ?? ''
  }
  return form
}

function takeInput(form: Form, attributes: string): void {
  const name = attributeIn(attributes, 'name')
  const type = attributeIn(attributes, 'type') ?? 'text'
  const value = attributeIn(attributes, 'value') ?? ''
  const isOff = ['checkbox', 'radio'].includes(type) && !/\schecked\b/.test(attributes)
  if (name === undefined || isOff || ['file', 'image', 'button'].includes(type)) return
  if (type === 'submit') form.buttons[value] = name
  else form.values[name] = value
}

function attributeIn(attributes: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : decoded(value)
}

function messagesIn(html: string): string {
  const [, text = ''] =
    /data-drupal-messages[^>]*>(.*?)<\/(?:main|section|form)>/s.exec(html) ?? /role="alert"[^>]*>(.*?)<\/div>/s.exec(html) ?? []
  return decoded(
    text
      .replace(/<\/?em\b[^>]*>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
  )
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&', '#039': "'", nbsp: ' ' }

function decoded(html: string): string {
  return html.replace(/&([a-z]+|#\d+);/g, (entity, name: string) => ENTITIES[name] ?? entity)
}
