import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { baseKeymap, chainCommands, exitCode } from 'prosemirror-commands'
import { history, redo, redoDepth, undo, undoDepth } from 'prosemirror-history'
import { keymap } from 'prosemirror-keymap'
import { Fragment, Slice } from 'prosemirror-model'
import { liftListItem, sinkListItem, splitListItem } from 'prosemirror-schema-list'
import { EditorState, TextSelection, type Command } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import type { Field } from './field.ts'
import {
  levelAt,
  linkAt,
  list,
  listAt,
  marksIn,
  setLink,
  style,
  toggle
} from './formatted-commands.ts'
import {
  isAddress,
  hasPicture,
  linesOf,
  openText,
  pastedOf,
  schema,
  write,
  type NodeJson
} from './formatted.ts'
import { NotKept } from './markup.ts'
import { sayHere } from './texts-formatted.ts'

/** An editor of the formatted text of a field. */
export interface Editor {
  element: HTMLElement
  /** To be called when something of the field may have changed. */
  update: () => void
  end: () => void
}

export interface EditorDeps {
  field: Field
  language: string | undefined
  /** Told in a sentence why the text can be shown as its source only. */
  onLeave: (reason: string) => void
  /** Undo and redo what the page has put into the field. They say whether there was anything. */
  undo: (field: Field) => boolean
  redo: (field: Field) => boolean
}

const { li, br, paragraph } = schema.nodes

const bold = toggle(['strong', 'b'])
const italic = toggle(['em', 'i'])

const LEVELS = [0, 2, 3, 4]

/** The page's own style sheet stays as small as it is without the editor. */
const STYLE = `
.formatted { border: 1px solid var(--edge); border-radius: var(--radius); background: var(--sheet); }
.formatted:focus-within { border-color: var(--accent); }
.formatted [role="toolbar"], .formatted .address { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem; padding: .3rem; border-bottom: 1px solid var(--line); }
.formatted [role="toolbar"] button { min-width: 2.25rem; padding: .15rem .5rem; border-color: transparent; }
.formatted [role="toolbar"] button[aria-pressed="true"] { border-color: var(--accent); background: var(--accent-soft); }
.formatted [data-sign]::before { content: attr(data-sign); }
.formatted .tool-bold { font-weight: 800; }
.formatted .tool-italic { font-style: italic; }
.formatted .tool-link { text-decoration: underline; }
.formatted select { width: auto; }
.formatted .dropped { padding: .2rem .7rem; font-size: .84rem; }
.formatted .dropped:empty { display: none; }
.formatted .address input { flex: 1 1 12rem; width: auto; }
.formatted .words { min-height: 6rem; max-height: 60vh; overflow-y: auto; padding: .5rem .7rem; white-space: pre-wrap; overflow-wrap: break-word; font-variant-ligatures: none; outline-offset: -3px; }
.formatted .words[contenteditable="false"] { background: var(--sunken); color: var(--quiet); }
.formatted .words > * + * { margin-top: .6rem; }
.formatted .words :is(h1, h2, h3, h4, h5, h6) { display: block; font: 600 1.25rem/1.3 var(--serif); letter-spacing: 0; }
.formatted .words :is(h3, h4, h5, h6) { font-size: 1.05rem; }
.formatted .words ul { list-style: disc; padding-inline-start: 1.5rem; }
.formatted .words ol { list-style: decimal; padding-inline-start: 1.5rem; }
.formatted .words blockquote { padding-inline-start: .8rem; border-inline-start: 3px solid var(--line); }
.formatted .words a { color: var(--accent); text-decoration: underline; }
.formatted .piece { padding: 0 .3rem; border: 1px dashed var(--edge); border-radius: 3px; background: var(--sunken); color: var(--quiet); font: .8rem/1.5 var(--mono); }
.formatted .ProseMirror-selectednode { outline: 2px solid var(--accent); }
`

let isStyled = false

function addStyle(): void {
  if (isStyled) return
  isStyled = true
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  document.adoptedStyleSheets.push(sheet)
}

/** What was copied here last: in this window it is pasted as it was, with all its attributes. */
let copied: { html: string; slice: Slice } | undefined

/**
 * An editor of the formatted text of one field, with its tools. The field has each input at once.
 */
export function createEditor({ field, language, onLeave, ...page }: EditorDeps): Editor {
  addStyle()
  const { name, label, help } = field.shape
  const element = document.createElement('div')
  element.className = 'formatted'
  const tools = document.createElement('div')
  let text: string | undefined
  let separator = ''
  let tool = 0
  let address: string | undefined
  let isWrong = false
  /** Whether a picture was among what was pasted last. */
  let isPictureDropped = false
  let isLocked = false
  let state = ''

  const breakLine: Command = chainCommands(exitCode, (state, dispatch) => {
    dispatch?.(state.tr.replaceSelectionWith(br!.create()).scrollIntoView())
    return true
  })
  const redoAny = chainCommands(redo, () => page.redo(field))
  const plugins = [
    history(),
    keymap({
      // ProseMirror hands on none of these keys, so the page does not hear them.
      'Mod-z': chainCommands(undo, () => page.undo(field)),
      'Mod-y': redoAny,
      'Shift-Mod-z': redoAny,
      'Mod-b': bold,
      'Mod-i': italic,
      'Mod-k': () => askAddress(),
      'Shift-Ctrl-8': list('ul'),
      'Shift-Ctrl-9': list('ol'),
      ...Object.fromEntries(LEVELS.map((level) => [`Shift-Ctrl-${level}`, style(level)])),
      'Mod-[': liftListItem(li!),
      'Mod-]': sinkListItem(li!),
      'Shift-Enter': breakLine,
      Enter: splitListItem(li!),
      'Alt-F10': () => {
        toolAt(tool)?.focus()
        return true
      }
    }),
    keymap(baseKeymap)
  ]

  /** @throws {NotKept} */
  function stateOf(source: string): EditorState {
    const { doc, separator: between } = openText(source)
    separator = between
    return EditorState.create({ doc, plugins })
  }

  function paste(data: DataTransfer): void {
    const html = data.getData('text/html')
    if (copied && html !== '' && html.includes(copied.html)) return insert(copied.slice)
    isPictureDropped = hasPictures(data)
    const slice = sliceFrom(data)
    if (slice.size > 0) insert(slice)
    showTools()
  }

  /** Whether pictures are among what is pasted or dropped: they have no place in the text. */
  function hasPictures(data: DataTransfer): boolean {
    return (
      hasPicture(data.getData('text/html')) ||
      [...data.files].some(({ type }) => type.startsWith('image/'))
    )
  }

  function sliceFrom(data: DataTransfer): Slice {
    const html = data.getData('text/html')
    const blocks = html === '' ? [] : pastedOf(html)
    return sliceOf(blocks.length > 0 ? blocks : linesOf(data.getData('text/plain')))
  }

  function insert(slice: Slice): void {
    view.dispatch(view.state.tr.replaceSelection(slice).scrollIntoView().setMeta('paste', true))
  }

  function copy(data: DataTransfer): void {
    const slice = view.state.selection.content()
    const isInline = slice.content.firstChild?.isInline === true
    const doc = schema.node(
      'doc',
      null,
      isInline ? paragraph!.create(null, slice.content) : slice.content
    )
    copied = { html: write(doc, ''), slice }
    data.setData('text/html', copied.html)
    data.setData('text/plain', slice.content.textBetween(0, slice.content.size, '\n\n'))
  }

  const first = stateOf(field.text)
  text = field.text
  element.append(tools)
  const view = new EditorView(element, {
    state: first,
    editable: () => !isLocked,
    attributes: () => ({
      id: `field-${name}`,
      class: 'words',
      role: 'textbox',
      dir: 'auto',
      'aria-multiline': 'true',
      'aria-labelledby': `label-${name}`,
      'aria-describedby': `${help === undefined ? '' : `help-${name} `}notes-${name} keys-${name}`,
      'aria-readonly': String(isLocked),
      'aria-invalid': String(field.problems.length > 0),
      ...(isLocked && { tabindex: '0' }),
      ...(language !== undefined && { lang: language })
    }),
    dispatchTransaction(transaction) {
      view.updateState(view.state.apply(transaction))
      if (transaction.docChanged) {
        if (!transaction.getMeta('paste')) isPictureDropped = false
        text = write(view.state.doc, separator)
        field.type(text)
      }
      showTools()
    },
    handleKeyDown(_, { ctrlKey, metaKey }) {
      if (ctrlKey || metaKey) readSelection()
      return false
    },
    handleDOMEvents: {
      // ProseMirror would read it by innerHTML, which the page's Content-Security-Policy forbids.
      paste(_, event) {
        event.preventDefault()
        if (event.clipboardData && !isLocked) paste(event.clipboardData)
        return true
      },
      copy: (_, event) => copyOrCut(event),
      cut: (_, event) => copyOrCut(event),
      drop(_, event) {
        if (view.dragging) return false
        event.preventDefault()
        const place = view.posAtCoords({ left: event.clientX, top: event.clientY })
        if (!event.dataTransfer || isLocked || !place) return true
        isPictureDropped = hasPictures(event.dataTransfer)
        const slice = sliceFrom(event.dataTransfer)
        view.dispatch(
          view.state.tr.replaceRange(place.pos, place.pos, slice).setMeta('paste', true)
        )
        showTools()
        return true
      }
    }
  })

  /**
   * Takes in what is selected, of which the browser may not have told yet when the next key comes.
   */
  function readSelection(): void {
    const { anchorNode, anchorOffset, focusNode, focusOffset } = document.getSelection()!
    const { selection, doc } = view.state
    if (
      !view.dom.contains(anchorNode) ||
      !view.dom.contains(focusNode) ||
      !(selection instanceof TextSelection)
    ) {
      return
    }
    const [anchor, head] = [
      view.posAtDOM(anchorNode!, anchorOffset),
      view.posAtDOM(focusNode!, focusOffset)
    ]
    if (anchor === selection.anchor && head === selection.head) return
    view.dispatch(
      view.state.tr.setSelection(TextSelection.between(doc.resolve(anchor), doc.resolve(head)))
    )
  }

  function copyOrCut(event: ClipboardEvent): boolean {
    if (view.state.selection.empty || !event.clipboardData) return false
    event.preventDefault()
    copy(event.clipboardData)
    if (event.type === 'cut' && !isLocked) {
      view.dispatch(view.state.tr.deleteSelection().scrollIntoView())
    }
    return true
  }

  element.addEventListener('focusin', ({ relatedTarget }) => {
    if (!element.contains(relatedTarget as Node | null)) field.focus()
  })
  element.addEventListener('focusout', ({ relatedTarget }) => {
    if (!element.contains(relatedTarget as Node | null)) field.blur()
  })

  /** Opens the box for the address of a link. */
  function askAddress(): boolean {
    if (isLocked) return true
    const link = linkAt(view.state)
    address = String(
      (link?.mark.attrs['attributes'] as string[][] | undefined)?.find(
        ([name]) => name === 'href'
      )?.[1] ?? ''
    )
    isWrong = false
    showTools()
    tools.querySelector<HTMLInputElement>('.address input')?.focus()
    return true
  }

  function closeAddress(): void {
    address = undefined
    view.focus()
    showTools()
  }

  function applyAddress(): void {
    const url = tools.querySelector<HTMLInputElement>('.address input')!.value.trim()
    isWrong = !isAddress(url)
    address = url
    if (isWrong) return showTools()
    setLink(url)(view.state, view.dispatch)
    closeAddress()
  }

  function run(command: Command): void {
    if (isLocked) return
    command(view.state, view.dispatch, view)
    view.focus()
  }

  const toolAt = (index: number) => tools.querySelectorAll<HTMLElement>('[data-tool]')[index]

  /** Arrow keys go from tool to tool, of which Tab meets one. */
  function onToolKey(event: KeyboardEvent): void {
    const { length } = tools.querySelectorAll('[data-tool]')
    const next = { ArrowRight: tool + 1, ArrowLeft: tool - 1, Home: 0, End: length - 1 }[event.key]
    if (event.key === 'Escape') {
      event.preventDefault()
      event.stopPropagation()
      view.focus()
    }
    if (next === undefined) return
    event.preventDefault()
    tool = (next + length) % length
    toolAt(tool)?.focus()
    showTools()
  }

  function showTools(): void {
    const { state: now } = view
    const links = marksIn(now, ['a'])
    const kind = listAt(now)?.node.type.name
    const buttons: Array<
      [
        key: 'bold' | 'italic' | 'link' | 'bullets' | 'numbers' | 'undo' | 'redo',
        sign: string,
        act: () => void,
        isOn?: boolean | undefined,
        isOff?: boolean
      ]
    > = [
      ['bold', 'B', () => run(bold), marksIn(now, ['strong', 'b']).length > 0],
      ['italic', 'I', () => run(italic), marksIn(now, ['em', 'i']).length > 0],
      ['link', 'a', askAddress, links.length > 0],
      ['bullets', '•', () => run(list('ul')), kind === 'ul'],
      ['numbers', '1.', () => run(list('ol')), kind === 'ol'],
      ['undo', '↶', () => run(undo), undefined, undoDepth(now) === 0],
      ['redo', '↷', () => run(redo), undefined, redoDepth(now) === 0]
    ]
    const level = levelAt(now)
    const stateNow = JSON.stringify([
      level,
      buttons.map(([, , , isOn, isOff]) => [isOn, isOff]),
      isLocked,
      address,
      isWrong,
      isPictureDropped,
      tool
    ])
    if (stateNow === state) return
    state = stateNow
    render(
      html`<div role="toolbar" aria-label=${sayHere('toolbar', { label })} aria-controls="field-${name}" @keydown=${onToolKey}>
      <select data-tool aria-label=${sayHere('style')} tabindex=${tool === 0 ? '0' : '-1'} ?disabled=${isLocked} @focus=${() => {
        tool = 0
      }} @change=${(event: Event) => run(style(Number((event.target as HTMLSelectElement).value)))}>
        ${(LEVELS.includes(level) ? LEVELS : [...LEVELS, level]).map((one) => html`<option value=${one} .selected=${live(one === level)}>${one === 0 ? sayHere('paragraph') : sayHere('heading', { level: one })}</option>`)}
      </select>
      ${buttons.map(
        (
          [key, sign, act, isOn, isOff = false],
          index
        ) => html`<button type="button" data-tool aria-label=${sayHere(key)} title=${sayHere(key)} tabindex=${tool === index + 1 ? '0' : '-1'} aria-pressed=${isOn === undefined ? nothing : String(isOn)} aria-disabled=${String(isLocked || isOff)}
        @mousedown=${(event: Event) => event.preventDefault()} @focus=${() => {
          tool = index + 1
        }} @click=${act}><span class="tool-${key}" data-sign=${sign}></span></button>`
      )}
    </div>
    <p class="quiet dropped" role="status">${isPictureDropped ? sayHere('pictureDropped') : nothing}</p>
    ${
      address === undefined
        ? nothing
        : html`<div class="address" @keydown=${answered}>
      <input type="text" inputmode="url" autocomplete="off" aria-label=${sayHere('address')} .value=${live(address)} aria-invalid=${String(isWrong)} @input=${(
        event: Event
      ) => {
        address = (event.target as HTMLInputElement).value
      }}>
      <button type="button" class="small" @click=${applyAddress}>${sayHere('setLink')}</button>
      ${
        links.length === 0
          ? nothing
          : html`<button type="button" class="small plain" @click=${() => {
              setLink('')(view.state, view.dispatch)
              closeAddress()
            }}>${sayHere('removeLink')}</button>`
      }
      ${isWrong ? html`<p class="note problem" role="alert">${sayHere('wrongAddress')}</p>` : nothing}
    </div>`
    }
    <p class="spoken" id="keys-${name}">${sayHere('keys')}</p>`,
      tools
    )
  }

  function answered(event: KeyboardEvent): void {
    if (event.key !== 'Enter' && event.key !== 'Escape') return
    if (event.key === 'Enter' && (event.target as Element).matches('button')) return
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Enter') applyAddress()
    else closeAddress()
  }

  showTools()
  return {
    element,
    update(): void {
      const isNowLocked = field.holder !== undefined || field.whyForbidden !== undefined
      if (field.text !== text) {
        // Saved elsewhere, restored or reverted.
        try {
          const fresh = stateOf(field.text)
          text = field.text
          view.updateState(fresh)
        } catch (error) {
          onLeave(reasonIn(error))
          return
        }
      }
      isLocked = isNowLocked
      view.setProps({})
      showTools()
    },
    end: () => view.destroy()
  }
}

/** Why a text is shown as its source. */
export function reasonIn(error: unknown): string {
  if (!(error instanceof NotKept)) throw error
  return sayHere(error.reason)
}

function sliceOf(blocks: NodeJson[]): Slice {
  return Slice.maxOpen(Fragment.fromJSON(schema, blocks))
}
