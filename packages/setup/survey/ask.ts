import { Failure } from '../../../lib/errors.ts'
import type { Http } from '../../../lib/http/client.ts'
import { textOf } from '../../../lib/http/exchange.ts'
import type { Account } from '../../../lib/drupal/accounts.ts'
import { createJsonapi, type Jsonapi } from '../../../lib/drupal/client.ts'
import {
  isObject,
  objectIn,
  oneResource,
  resources,
  scalarText,
  type Document,
  type Resource
} from '../../../lib/drupal/document.ts'
import { refusal } from '../../../lib/editions/translate/failures.ts'
import { PAGE_MAX } from '../../../lib/editions/translate/query.ts'
import { newCaller } from '../../../lib/http/calls.ts'

/** How a survey asks a site. It reads only. */
export interface Ask {
  cms: Jsonapi
  jsonapiPath: string
  /**
   * Resources of a collection, and what of them is hidden, on at most so many pages. A refusal is
   * the failure `refused`.
   */
  list(path: string, query?: Array<[string, string]>, pages?: number): Promise<RowList>
  /** Whether JSON:API takes this query. */
  takes(path: string, query: Array<[string, string]>): Promise<boolean>
  /** A single resource; undefined where there is none to see. */
  one(path: string): Promise<Resource | undefined>
  /**
   * Any path of the site with `_format=json`, such as core REST's; undefined where there was no
   * usable answer.
   */
  json(path: string, asAccount: boolean): Promise<Plain | undefined>
  /**
   * The canonical path that core REST or a page names in its `Link`: that of an entity has the
   * prefix of the entity's language.
   */
  canonicalOf(path: string): Promise<string | undefined>
  /** The same site at another path of JSON:API. */
  at(jsonapiPath: string): Ask
}

/** Resources, and those that the account may not see. */
export interface RowList {
  rows: Resource[]
  hidden: number
  /** The permission that would show the hidden ones, where Drupal names it. */
  permission?: string
  refused?: Failure
}

/** An answer outside JSON:API. */
export interface Plain {
  status: number
  /** The object in its body, if there is one. */
  object: Record<string, unknown> | undefined
  language: string | undefined
  /** The path of the link `canonical` in its header. */
  canonical: string | undefined
  text: string
}

export interface AskOptions {
  http: Http
  jsonapiPath: string
  account?: Account
}

/** How Drupal names a permission that is missing. */
const PERMISSION = /'([^']+)' permission is required|permissions? (?:is|are) required: '?([^'.]+)/

/**
 * Of several links in one header the one to the entity itself. Source:
 * Drupal\rest\Plugin\rest\resource\EntityResource::addLinkHeaders().
 */
const CANONICAL = /<([^>]*)>;\s*rel="canonical"/

/** What relative links are resolved against: their paths alone count. */
const NOWHERE = 'http://nowhere.invalid'

export function createAsk({ http, jsonapiPath, account }: AskOptions): Ask {
  const cms = createJsonapi({ http, jsonapiPath, ...(account && { account }) })

  async function list(
    path: string,
    query: Array<[string, string]> = [],
    pages = 1
  ): Promise<RowList> {
    return pageAt(0)

    async function pageAt(page: number): Promise<RowList> {
      const answer = await cms.request({
        path,
        query: [
          ...query,
          ['page[limit]', String(PAGE_MAX)],
          ['page[offset]', String(page * PAGE_MAX)]
        ],
        caller: newCaller()
      })
      if (answer.status >= 400) {
        return {
          rows: [],
          hidden: 0,
          ...withPermission(JSON.stringify(answer.document)),
          refused: refusal(answer)
        }
      }
      const result = listedIn(answer.document)
      if (answer.document.links?.next === undefined || page + 1 >= pages) return result
      const rest = await pageAt(page + 1)
      return {
        ...rest,
        ...result,
        rows: [...result.rows, ...rest.rows],
        hidden: result.hidden + rest.hidden
      }
    }
  }

  async function takes(path: string, query: Array<[string, string]>): Promise<boolean> {
    const { status } = await cms.request({
      path,
      query: [...query, ['page[limit]', '1']],
      caller: newCaller()
    })
    return status < 400
  }

  async function one(path: string): Promise<Resource | undefined> {
    const { document } = await cms.request({ path, caller: newCaller() })
    return oneResource(document)
  }

  async function json(path: string, asAccount: boolean): Promise<Plain | undefined> {
    return plain(`${path}?_format=json`, asAccount)
  }

  async function canonicalOf(path: string): Promise<string | undefined> {
    return (await json(path, true))?.canonical ?? (await plain(path, false))?.canonical
  }

  async function plain(path: string, asAccount: boolean): Promise<Plain | undefined> {
    try {
      const credentials = asAccount ? await account?.credentials() : undefined
      const { status, headers, body } = await http.send({
        method: 'GET',
        path,
        headers: { ...credentials, accept: '*/*' }
      })
      const language = headers['content-language']
      const canonical = CANONICAL.exec(String(headers.link))?.[1]
      return {
        status,
        object: objectIn(body),
        language: typeof language === 'string' ? language : undefined,
        canonical: canonical === undefined ? undefined : URL.parse(canonical, NOWHERE)?.pathname,
        text: textOf(body)
      }
    } catch (error) {
      if (error instanceof Failure) return undefined
      throw error
    }
  }

  return {
    cms,
    jsonapiPath,
    list,
    takes,
    one,
    json,
    canonicalOf,
    at: (path) => createAsk({ http, jsonapiPath: path, ...(account && { account }) })
  }
}

function listedIn(document: Document): RowList {
  const { meta } = document
  const links = isObject(meta?.omitted) && isObject(meta.omitted.links) ? meta.omitted.links : {}
  const omissions = Object.entries(links)
    .filter(([name]) => name !== 'help')
    .map(([, link]) => link)
  const details = omissions
    .map((link) => (isObject(link) && isObject(link.meta) ? scalarText(link.meta.detail) : ''))
    .join('\n')
  return { rows: resources(document), hidden: omissions.length, ...withPermission(details) }
}

function withPermission(text: string): Pick<RowList, 'permission'> {
  const match = PERMISSION.exec(text)
  return match ? { permission: (match[1] ?? match[2])! } : {}
}
