import type { LoadRequest } from './load.ts'
import { REPLAYED, type Asked } from './stubs/asked.ts'

/** Each worker is a caller of its own: of equal requests of one caller at the same time Quoin would send the CMS one. */
export const CALLER = { authorization: `Basic ${Buffer.from('editor:editor').toString('base64')}`, 'accept-language': 'en-x-{worker}' }
export const JSON_TYPE = { 'content-type': 'application/json' }

/** What the stub CMS was asked since it was asked for that last. */
export async function askedOf(url: string): Promise<Asked[]> {
  return (await (await fetch(`${url}/asked`)).json()) as Asked[]
}

/** The same request, to be sent to the CMS by others. */
export function asSent({ method, path, headers, body, status }: Asked): LoadRequest {
  return {
    method: method as LoadRequest['method'],
    path,
    headers: { ...CALLER, [REPLAYED]: 'yes', ...headers },
    ...(body && { body }),
    status
  }
}
