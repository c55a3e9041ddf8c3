import { act, createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import type { Test } from 'tap'

/** As much of a browser as React looks at where a component shows nothing. */
const element = { nodeType: 1, nodeName: 'DIV', tagName: 'DIV', textContent: '', addEventListener() {}, ownerDocument: {} }
element.ownerDocument = { nodeType: 9, activeElement: null, documentElement: element, addEventListener() {} }
const BROWSER = { IS_REACT_ACT_ENVIRONMENT: true, window: { HTMLIFrameElement: class {} } }

/** A hook in a component of its own, in strict mode. */
export interface Rendered<Props, Result> {
  /** What the hook answered last. */
  readonly result: Result
  render(props: Props): Promise<void>
  /** Waits for what `run` sets off. */
  act(run: () => unknown): Promise<void>
  unmount(): Promise<void>
}

export async function rendered<Props extends object, Result>(
  t: Test,
  hook: (props: Props) => Result,
  first: Props
): Promise<Rendered<Props, Result>> {
  Object.assign(globalThis, BROWSER)
  t.teardown(() => {
    for (const name in BROWSER) delete (globalThis as Record<string, unknown>)[name]
  })
  const root = createRoot(element as unknown as Element)
  let result: Result
  function Component(props: Props): null {
    result = hook(props)
    return null
  }
  async function render(props: Props): Promise<void> {
    await act(async () => root.render(createElement(StrictMode, null, createElement(Component, props))))
  }
  await render(first)
  return {
    get result() {
      return result
    },
    render,
    async act(run) {
      await act(async () => {
        await run()
      })
    },
    async unmount() {
      await act(async () => root.unmount())
    }
  }
}
