import { connect, type Headers } from './connect.ts'
import type { Part, PartModule } from './context.ts'

// The script that another page loads: it defines the elements. What fills an element comes with the
// first of its kind, in the language of its reader.

/** The styles of the elements, which the build makes of the desk's. */
declare const ELEMENT_STYLES: string

/** The names of the scripts that fill elements, by kind and language, which the build puts in. */
declare const ELEMENT_PARTS: Record<string, Record<string, string>>

/** What an element is opened anew for. */
const ATTRIBUTES = ['url', 'edition', 'field', 'user-id', 'user-name', 'lang', 'time-zone']

/** Where Quoin serves this script, there it is. */
const SERVED = /\/desk\/elements\.js$/

/** An element as its page has it. */
interface QuoinElement extends HTMLElement {
  /** A bearer token, or what gives the newest one. An attribute would end up in logs. */
  token?: string | (() => string | Promise<string>) | undefined
  /** Header fields of each request, in the place of `token`. */
  headers?: Headers | undefined
}

interface State {
  isPlanned: boolean
  /** What the element was opened for: its attributes. */
  key?: string | undefined
  part?: Part | undefined
}

const states = new WeakMap<QuoinElement, State>()
let styles: CSSStyleSheet | undefined

for (const kind of Object.keys(ELEMENT_PARTS)) define(kind)

function define(kind: string): void {
  const name = `quoin-${kind}`
  if (customElements.get(name)) return
  customElements.define(
    name,
    class extends HTMLElement implements QuoinElement {
      static readonly observedAttributes = ATTRIBUTES
      // Not set here: a page may have given them before this script was there.
      declare token: QuoinElement['token']
      declare headers: QuoinElement['headers']

      connectedCallback(): void {
        plan(this, kind)
      }

      disconnectedCallback(): void {
        plan(this, kind)
      }

      attributeChangedCallback(): void {
        plan(this, kind)
      }

      /** Saves the fields of the edition that were changed in this page. */
      async save(): Promise<void> {
        await states.get(this)?.part?.save()
      }
    }
  )
}

/** Settles once for all changes of the same moment, such as when an element is moved. */
function plan(element: QuoinElement, kind: string): void {
  const state = states.get(element) ?? { isPlanned: false }
  states.set(element, state)
  if (state.isPlanned) return
  state.isPlanned = true
  queueMicrotask(() => {
    state.isPlanned = false
    settle(element, state, kind)
  })
}

/** Opens or closes an element, as its page has it now. */
function settle(element: QuoinElement, state: State, kind: string): void {
  const isWanted = element.isConnected && element.getAttribute('edition')
  const key = isWanted
    ? JSON.stringify([languagesOf(element), ATTRIBUTES.map((name) => element.getAttribute(name))])
    : undefined
  if (key === state.key) return
  state.part?.close()
  state.part = undefined
  state.key = key
  if (key !== undefined) open(element, state, kind)
}

async function open(element: QuoinElement, state: State, kind: string): Promise<void> {
  const { key } = state
  const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
  root.adoptedStyleSheets = [(styles ??= sheetOf(ELEMENT_STYLES))]
  const languages = languagesOf(element)
  const tell = (event: string, detail: object) =>
    element.dispatchEvent(
      new CustomEvent(`quoin-${event}`, { detail, bubbles: true, composed: true, cancelable: true })
    )
  let module: PartModule
  try {
    module = await import(nameOfPart(kind, languages))
  } catch {
    root.textContent = 'Quoin could not be reached. Load the page again.'
    tell('refused', { code: 'UNREACHABLE', message: root.textContent, fields: [] })
    return
  }
  // The page has changed its mind meanwhile.
  if (state.key !== key) return
  const uid = element.getAttribute('user-id')
  const name = element.getAttribute('user-name')
  state.part = module.open({
    root,
    connect: () =>
      connect({
        url: urlOf(element),
        user: uid === null ? undefined : { uid, ...(name !== null && { name }) },
        headers: () => headersOf(element)
      }),
    id: element.getAttribute('edition')!,
    fieldName: element.getAttribute('field') ?? undefined,
    languages,
    timeZone: element.getAttribute('time-zone') ?? undefined,
    tell
  })
}

function sheetOf(text: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(text)
  return sheet
}

/** The languages for an element: that of the page around it, then those of the browser. */
function languagesOf(element: HTMLElement): string[] {
  const around = element.closest<HTMLElement>('[lang]')?.lang
  return [...(around ? [around] : []), ...navigator.languages]
}

function nameOfPart(kind: string, languages: string[]): string {
  const names = ELEMENT_PARTS[kind]!
  const primary = languages
    .map((tag) => tag.split('-')[0]!.toLowerCase())
    .find((language) => Object.hasOwn(names, language))
  return names[primary ?? 'en']!
}

/** Where Quoin is: by default where this script comes from, or the page. */
function urlOf(element: HTMLElement): string {
  const { url } = import.meta
  const served = SERVED.test(url) ? url.replace(SERVED, '') : location.origin
  const { href } = new URL(element.getAttribute('url') ?? served, location.href)
  return href.replace(/\/+$/, '')
}

async function headersOf({ headers, token }: QuoinElement): Promise<Record<string, string>> {
  if (headers) return headers()
  const present = typeof token === 'function' ? await token() : token
  return present ? { authorization: `Bearer ${present}` } : {}
}
