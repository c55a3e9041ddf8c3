import type { Field } from './field.ts'
import type { Editor, EditorDeps } from './formatted-editor.ts'

interface Door {
  isOpen: boolean
  isMissing: boolean
  editor?: Editor | undefined
  reason?: string | undefined
}

const doors = new WeakMap<Field, Door>()

/** The key in the browser's storage for showing formatted texts in the editor. */
const KEY = 'quoin-formatted'

function isWanted(): boolean {
  try {
    return localStorage.getItem(KEY) === 'on'
  } catch {
    return false
  }
}

function want(isOn: boolean): void {
  try {
    if (isOn) localStorage.setItem(KEY, 'on')
    else localStorage.removeItem(KEY)
  } catch {
    // A browser that keeps nothing asks again.
  }
}

const load = () => import('./formatted-editor.ts')

/** Whether a field has a formatted text. That of Drupal's format for plain texts has no markup. */
export function isFormatted({ shape: { template } }: Field): boolean {
  return 'format' in template && template['format'] !== 'plain_text'
}

export interface DoorDeps extends Pick<EditorDeps, 'language' | 'undo' | 'redo'> {
  onChange: () => void
}

/**
 * The editor of a field. Its script loads when an editor is first opened. Without it, or while it
 * is closed, the source is edited.
 */
export function editorDoor(field: Field, { onChange, ...deps }: DoorDeps) {
  const door: Door = doors.get(field) ?? { isOpen: false, isMissing: false }
  const isNew = !doors.has(field)
  doors.set(field, door)

  function leave(reason?: string): void {
    const { editor } = door
    door.editor = undefined
    door.reason = reason
    queueMicrotask(() => {
      editor?.end()
      onChange()
    })
  }

  async function open(): Promise<void> {
    door.isOpen = true
    door.isMissing = false
    door.reason = undefined
    onChange()
    const module = await load().catch(() => undefined)
    door.isMissing = module === undefined
    if (!module || !door.isOpen || door.editor) return onChange()
    try {
      door.editor = module.createEditor({ field, ...deps, onLeave: leave })
    } catch (error) {
      door.reason = module.reasonIn(error)
    }
    onChange()
  }

  if (isNew && isWanted()) open()
  door.editor?.update()
  return {
    get isOpen() {
      return door.isOpen
    },
    get isMissing() {
      return door.isMissing
    },
    /** The element to be shown instead of the source. */
    get element() {
      return door.editor?.element
    },
    /** Why the source is shown although the editor is wanted. */
    get reason() {
      return door.reason
    },
    async toggle(): Promise<void> {
      want(!door.isOpen)
      if (!door.isOpen || door.reason !== undefined || door.isMissing) return open()
      door.isOpen = false
      leave()
    }
  }
}
