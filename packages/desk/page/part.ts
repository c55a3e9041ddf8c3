/** A part of the page that has a script of its own. */
export interface Part<Module> {
  /** Its script; undefined until it is there. */
  readonly module: Module | undefined
  /** Whether it could not be loaded: the service is away, or of another release. */
  readonly isMissing: boolean
  /** Loads it, unless it is there or on its way. */
  open: () => Promise<Module | undefined>
}

/** A part of the page whose script comes when it is opened first. */
export function createPart<Module>(
  load: () => Promise<Module>,
  onChange: () => void
): Part<Module> {
  let module: Module | undefined
  let isMissing = false
  let opening: Promise<Module | undefined> | undefined

  async function read(): Promise<Module | undefined> {
    module = await load().catch(() => undefined)
    isMissing = module === undefined
    opening = undefined
    onChange()
    return module
  }

  return {
    get module() {
      return module
    },
    get isMissing() {
      return isMissing
    },
    open: async () => module ?? (opening ??= read())
  }
}
