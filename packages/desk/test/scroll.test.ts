import t from 'tap'
import { storeOf } from './fixtures.ts'
import { createScroll, type Scrolled } from '../page/scroll.ts'

/** A window with a history of pages, the one that is shown as high as a test says. */
function windowOf() {
  const states: unknown[] = [null]
  let at = 0
  const went: number[] = []
  const element = { scrollHeight: 3000 }
  const window = {
    scrollY: 0,
    innerHeight: 900,
    scrollTo(_: number, y: number) {
      went.push(y)
    },
    history: {
      scrollRestoration: 'auto' as 'auto' | 'manual',
      get state() {
        return states[at]
      },
      replaceState(state: unknown) {
        states[at] = state
      }
    },
    sessionStorage: storeOf() as Pick<Storage, 'getItem' | 'setItem'>,
    document: { documentElement: element }
  }
  return {
    window: window as Scrolled & { scrollY: number },
    element,
    went,
    visit() {
      states.splice(++at, Infinity, null)
    },
    back() {
      at--
    }
  }
}

t.test('who goes back is where they were, as soon as the page is high enough', async (t) => {
  const { window, element, went, visit, back } = windowOf()
  const scroll = createScroll(window)
  t.equal(window.history.scrollRestoration, 'manual')
  window.scrollY = 1200
  visit()
  t.notOk(scroll.turn(), 'a new page is shown from its top')
  scroll.settle()
  t.strictSame(went, [])
  window.scrollY = 40
  back()
  t.ok(scroll.turn())
  element.scrollHeight = 1000
  scroll.settle()
  t.strictSame(went, [], 'its rows are not there yet')
  element.scrollHeight = 2100
  scroll.settle()
  scroll.settle()
  t.strictSame(went, [1200], 'once')
})

t.test('who goes elsewhere by themselves stays there', async (t) => {
  const { window, went, visit, back } = windowOf()
  const scroll = createScroll(window)
  window.scrollY = 1200
  visit()
  scroll.turn()
  back()
  scroll.turn()
  scroll.stay()
  scroll.settle()
  t.strictSame(went, [])
})

t.test('a page that is loaded again is shown where it was left', async (t) => {
  const { window, went, visit } = windowOf()
  const first = createScroll(window)
  window.scrollY = 700
  first.keep()
  const again = createScroll(window)
  again.settle()
  t.strictSame(went, [700])
  visit()
  createScroll(window).settle()
  t.strictSame(went, [700], 'and another page from its top')
})

t.test('where the browser keeps nothing a page that is loaded again is shown from its top', async (t) => {
  const { window, went } = windowOf()
  Object.defineProperty(window, 'sessionStorage', {
    get() {
      throw new DOMException('The operation is insecure', 'SecurityError')
    }
  })
  createScroll(window).keep()
  createScroll(window).settle()
  t.strictSame(went, [])
})
