import { setBlockType } from 'prosemirror-commands'
import type { Attrs, Mark, NodeType, ResolvedPos } from 'prosemirror-model'
import { liftListItem, wrapInList } from 'prosemirror-schema-list'
import type { Command, EditorState, Transaction } from 'prosemirror-state'
import { schema } from './formatted.ts'
import type { HtmlAttribute } from './markup.ts'

const { inline } = schema.marks
const { paragraph, heading, li } = schema.nodes

const isNamed =
  (names: string[]) =>
  ({ attrs }: Mark) =>
    names.includes(attrs['name'])

/**
 * The marks with one of these names in what is selected, or with which the next letter would be
 * typed.
 */
export function marksIn({ selection, storedMarks, doc }: EditorState, names: string[]): Mark[] {
  if (selection.empty) return (storedMarks ?? selection.$from.marks()).filter(isNamed(names))
  const marks: Mark[] = []
  doc.nodesBetween(selection.from, selection.to, (node) => {
    marks.push(...node.marks.filter(isNamed(names)))
  })
  return marks
}

/**
 * Bold, italic: takes all of these out of what is selected, or puts the first of them in where
 * there is none.
 */
export function toggle(names: [string, ...string[]]): Command {
  return (state, dispatch) => {
    const {
      selection: { from, to, empty }
    } = state
    const marks = marksIn(state, names)
    const tr = state.tr
    if (empty && marks.length > 0) for (const mark of marks) tr.removeStoredMark(mark)
    else if (empty) tr.addStoredMark(inline!.create({ name: names[0] }))
    else if (marks.length > 0) for (const mark of marks) tr.removeMark(from, to, mark)
    else tr.addMark(from, to, inline!.create({ name: names[0] }))
    dispatch?.(tr.scrollIntoView())
    return true
  }
}

/** The link in which the selection is, and from where to where it goes. */
export function linkAt(state: EditorState): { mark: Mark; from: number; to: number } | undefined {
  const [mark] = marksIn(state, ['a'])
  return (
    mark && {
      mark,
      ...extentOf(
        state.selection.empty ? state.selection.$from : state.doc.resolve(state.selection.from + 1),
        mark
      )
    }
  )
}

function extentOf($pos: ResolvedPos, mark: Mark): { from: number; to: number } {
  const { parent } = $pos
  let [begin, end] = [$pos.index(), $pos.indexAfter()]
  if (begin === parent.childCount || !mark.isInSet(parent.child(begin).marks)) begin--
  begin = Math.max(0, begin)
  while (begin > 0 && mark.isInSet(parent.child(begin - 1).marks)) begin--
  end = Math.max(begin, end - 1)
  while (end < parent.childCount && mark.isInSet(parent.child(end).marks)) end++
  const sizeTo = (count: number) =>
    Array.from({ length: count }, (_, index) => parent.child(index).nodeSize).reduce(
      (sum, size) => sum + size,
      0
    )
  return { from: $pos.start() + sizeTo(begin), to: $pos.start() + sizeTo(end) }
}

/** What Drupal keeps of what a link goes to, which another address is not of. */
const isOfTarget = ([name]: HtmlAttribute) => name === 'href' || name.startsWith('data-entity-')

/**
 * Links what is selected, or the address itself where nothing is, or gives the link there another
 * address; none takes it away.
 */
export function setLink(address: string): Command {
  return (state, dispatch) => {
    const { selection } = state
    const link = linkAt(state)
    const { from, to } = link ?? selection
    const tr: Transaction = state.tr
    const others = link
      ? (link.mark.attrs['attributes'] as HtmlAttribute[]).filter(
          (attribute) => !isOfTarget(attribute)
        )
      : []
    const mark = inline!.create({ name: 'a', attributes: [['href', address], ...others] })
    if (link) tr.removeMark(from, to, link.mark)
    if (address !== '') {
      if (from === to) tr.insert(from, schema.text(address, [mark]))
      else tr.addMark(from, to, mark)
      tr.removeStoredMark(mark)
    }
    dispatch?.(tr.scrollIntoView())
    return true
  }
}

/**
 * Makes a list of what is selected, or of one kind of list the other; a list of this kind is one no
 * more.
 */
export function list(name: 'ul' | 'ol'): Command {
  return (state, dispatch) => {
    const present = listAt(state)
    if (!present) return wrapInList(schema.nodes[name]!)(state, dispatch)
    if (present.node.type.name === name) return liftListItem(li!)(state, dispatch)
    dispatch?.(state.tr.setNodeMarkup(present.pos, schema.nodes[name]))
    return true
  }
}

/** The innermost list around the selection. */
export function listAt({ selection: { $from } }: EditorState) {
  for (let depth = $from.depth; depth > 0; depth--) {
    const node = $from.node(depth)
    if (node.type.name === 'ul' || node.type.name === 'ol') {
      return { node, pos: $from.before(depth) }
    }
  }
  return undefined
}

/**
 * Makes paragraphs or headings of what is selected.
 * @param level of a heading; 0 for a paragraph
 */
export function style(level: number): Command {
  const [type, attrs]: [NodeType, Attrs | null] =
    level === 0 ? [paragraph!, null] : [heading!, { level }]
  return setBlockType(type, attrs)
}

/** The level of the heading in which the selection is; 0 in a paragraph. */
export function levelAt({ selection: { $from } }: EditorState): number {
  return $from.parent.type === heading ? $from.parent.attrs['level'] : 0
}
