import type { CmsAnswer, Incoming } from './jsonapi.ts'
import type { Login } from './login.ts'
import { CmsError } from './errors.ts'

const plain = { 'content-type': 'text/plain; charset=UTF-8' }

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new CmsError(400, 'Syntax error')
  }
}

/**
 * Answers the addresses of the cookie session: login, its status, tokens and logout; undefined for
 * any other path.
 */
export function answerSession(
  login: Login,
  path: string,
  { method, query, caller, text }: Incoming,
  address: string
): CmsAnswer | undefined {
  const wantsJson = query._format === 'json'
  if (path === '/session/token' && method === 'GET') {
    return { status: 200, headers: plain, body: login.token(caller) }
  }
  if (path === '/user/login_status' && method === 'GET' && wantsJson) {
    return { status: 200, headers: plain, body: caller.viewer.uid === 0 ? '0' : '1' }
  }
  if (path === '/user/login' && method === 'POST' && wantsJson) {
    const { body, cookie } = login.login(text === '' ? {} : parseJson(text), caller, address)
    return { status: 200, headers: { 'set-cookie': cookie }, body }
  }
  if (path === '/user/logout' && method === 'POST' && wantsJson) {
    return { status: 204, headers: { 'set-cookie': login.logout(query.token, caller) } }
  }
  return undefined
}
