import { createCatalog, type Collection } from '../../../lib/editions/site/catalog.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import { createAsk } from '../survey/ask.ts'
import { proposeBundles, type BundleProposal } from '../survey/bundles.ts'
import { collectionsOf, surveySite } from '../survey/survey.ts'
import { refusal } from '../../../lib/editions/translate/failures.ts'
import { Failure } from '../../../lib/errors.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import type { Http } from '../../../lib/http/client.ts'
import type { Account } from '../../../lib/drupal/accounts.ts'
import { createJsonapi, type Jsonapi, type JsonapiAnswer } from '../../../lib/drupal/client.ts'
import {
  identifiers,
  isObject,
  oneResource,
  userIn,
  type Document
} from '../../../lib/drupal/document.ts'
import { commandFor, QUOIN_VERSION } from '../../../lib/package-root.ts'
import { cmsAdvice } from './advice.ts'
import { compareWithCore } from './core-rest.ts'
import { checkEditions, type Visitor } from './editions.ts'
import { checkLists } from './lists.ts'
import { checkModel } from './model.ts'
import { checkRestored, type Records } from './restored.ts'
import { newCaller } from '../../../lib/http/calls.ts'

export interface CmsToCheck {
  http: Http
  /** Drupal's address, for the reader. */
  url: string
  jsonapiPath: string
  /** The service account; without one the checks are made as anonymous. */
  account?: Account
  model: ContentModel
  /** What the lock table has, to compare; without it nothing is. */
  records?: Records
}

const ANONYMOUS =
  'CMS_AUTH is passthrough, so the doctor has no credentials and asks as anonymous; ' +
  `CMS_AUTH=basic CMS_USER=<name> CMS_PASSWORD=<password> ${commandFor('doctor')} asks as one of your users`

/**
 * Checks the CMS: that it is there, who the account is, that JSON:API takes writes, and that it has
 * the content model's editions.
 */
export async function* checkCms({
  http,
  url,
  jsonapiPath,
  account,
  model,
  records
}: CmsToCheck): AsyncGenerator<Diagnosis> {
  const at = { http, jsonapiPath, languages: model.languages }
  const anonymous = createJsonapi(at)
  try {
    // Before anything is sent with credentials: to a wrong address they would look wrong.
    yield entryPointDiagnosis(
      await anonymous.request({ path: '', caller: newCaller() }),
      url + jsonapiPath
    )
    const login = account && { account: loggedInOnce(account) }
    const cms = login ? createJsonapi({ ...at, ...login }) : anonymous
    const catalog = createCatalog({ cms, model })
    const name = account ? yield* identity(cms, () => catalog.all(newCaller())) : 'anonymous'
    if (!account) yield unchecked('CMS account', ANONYMOUS)
    const visitor = { cms, catalog, name, isAnonymous: account === undefined }
    const collections = await catalog.editions(newCaller())
    yield ok(
      `editions: ${model.entityType} with the bundles ${collections.map(({ bundle }) => bundle).join(', ')}`
    )
    yield* writes(visitor, collections, model.keys.uuid)
    yield moduleDiagnosis(cms.module?.version())
    yield* checkEditions(visitor, collections, model)
    yield* checkLists(visitor, model, new URL(url).origin)
    const ask = createAsk({ http, jsonapiPath, ...login })
    const all = await collectionsOf(ask)
    const { bundles } = model
    if (!bundles) yield* unnamedBundles(await proposeBundles(ask, model.entityType, all))
    yield* checkModel(
      await surveySite(
        ask,
        model.entityType,
        all,
        Object.keys(model.languages ?? {}),
        bundles && {
          bundles: Object.keys(bundles),
          certainty: 'shown',
          why: 'the entry point of JSON:API has the others'
        }
      ),
      model
    )
    yield* compareWithCore({ cms, ask, url, model, collections })
    if (records) yield* checkRestored(visitor, collections, model, records)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    yield cmsAdvice(error, url)
    yield unchecked('the rest of the CMS', 'correct the above first')
  }
}

/** Where articles are of the editions' entity type, a content model that names no bundles takes them for editions. */
function* unnamedBundles(proposal: BundleProposal | undefined): Generator<Diagnosis> {
  if (!proposal) return
  const { bundles, editions, why } = proposal
  const hint = [editions.join(', '), why].filter(Boolean).join(', as ')
  yield unchecked(
    `bundles: Quoin takes all of ${bundles.join(', ')} for editions`,
    `name those that are editions in the content model (bundles): ${hint}`
  )
}

/**
 * What the entry point's answer says.
 * @throws {Failure} CMS_INVALID_RESPONSE where it is not JSON:API's
 */
export function entryPointDiagnosis(
  { status, document }: JsonapiAnswer,
  address: string
): Diagnosis {
  if (status === 401 || status === 403) {
    return ok(`CMS: ${address} answers as JSON:API, to those it knows`)
  }
  const { jsonapi } = document as Document & { jsonapi?: unknown }
  if (status >= 400 || !isObject(jsonapi)) {
    throw new Failure(
      'CMS_INVALID_RESPONSE',
      "The CMS answered JSON, but not as Drupal's JSON:API does",
      { cause: new Error(`the CMS answered ${status}`) }
    )
  }
  return ok(`CMS: ${address} answers as JSON:API ${String(jsonapi.version)}`)
}

/**
 * Whether the site has Quoin's Drupal module, and in the version of this Quoin.
 * @param version that the answers of the site have named
 */
export function moduleDiagnosis(version: string | undefined): Diagnosis {
  if (version === undefined) {
    return ok("module: the site does not have Quoin's Drupal module, which is optional")
  }
  if (version === QUOIN_VERSION) return ok(`module: the site has Quoin's module ${version}`)
  return wrong(
    `module: the site has Quoin's module ${version}, and this is Quoin ${QUOIN_VERSION}`,
    `copy the module of Quoin ${QUOIN_VERSION} to the site, then run drush updatedb and drush cr`
  )
}

/**
 * Five wrong logins lock an address out of Drupal: whatever is refused later, the doctor does not
 * log in again.
 */
export function loggedInOnce({ credentials }: Account): Account {
  return { credentials, renew: async () => false }
}

/**
 * Whom the CMS takes the account for. The entry point tells the uuid, the user's own resource the
 * name; the roles are there only for those who may administer users.
 */
export async function* identity(
  cms: Jsonapi,
  collections: () => Promise<Collection[]>
): AsyncGenerator<Diagnosis, string> {
  const entry = await cms.request({ path: '', caller: newCaller() })
  if (entry.status >= 400) throw refusal(entry)
  const me = userIn(entry.document)?.id
  if (typeof me !== 'string') {
    yield wrong(
      'CMS account: Drupal accepts it, but its entry point does not say who it is (meta.links.me)',
      'see which module changes it'
    )
    return 'the account'
  }
  const users = (await collections()).find(({ entityType }) => entityType === 'user')
  const answer =
    users &&
    (await cms.request({ path: `${users.path}/${encodeURIComponent(me)}`, caller: newCaller() }))
  const user = answer && oneResource(answer.document)
  const name = String(user?.attributes?.display_name ?? user?.attributes?.name ?? me)
  yield ok(`CMS account: Drupal takes it for the user ${name}`)
  const roles = user?.relationships?.roles
  yield roles
    ? ok(
        `CMS account: its roles are ${['authenticated', ...identifiers(roles).map(({ id, meta }) => String(meta?.drupal_internal__target_id ?? id))].join(', ')}`
      )
    : unchecked('roles of the CMS account', 'Drupal does not show them to the user itself')
  return name
}

/**
 * Source: Drupal\jsonapi\Controller\EntityResource::entityExists(), which looks for the key by this
 * name.
 */
const NO_CREATE =
  'let the entity type call it uuid, or create editions in Drupal; Quoin reads and changes them'

/**
 * Whether JSON:API takes writes, and of whom, without writing. A document without `data` creates
 * nothing: Drupal refuses it as read-only (405) before it looks at anything else, then (401, 403)
 * where the user may not create in this bundle, and at last (400) because it names no type.
 * Sources: Drupal\jsonapi\Routing\ReadOnlyModeMethodFilter, Routes (requirement
 * _entity_create_access), Normalizer\JsonApiDocumentTopLevelNormalizer::validateRequestBody().
 */
async function* writes(
  { cms, name, isAnonymous }: Visitor,
  collections: Collection[],
  uuidKey: string
): AsyncGenerator<Diagnosis> {
  const answers = await Promise.all(
    collections.map(async ({ path, bundle }) => {
      const answer = await cms.request({ method: 'POST', path, body: {}, caller: newCaller() })
      return { bundle, status: answer.status, failure: refusal(answer) }
    })
  )
  const readOnly = answers.find(({ failure }) => failure.code === 'CMS_READ_ONLY')
  if (readOnly) {
    yield cmsAdvice(readOnly.failure, '')
    return
  }
  yield ok('writing: JSON:API takes writes')
  for (const { bundle, status, failure } of answers) {
    const isDenied = status === 401 || status === 403
    if (status === 400) {
      yield uuidKey === 'uuid'
        ? ok(`writing: ${name} may create ${bundle}`)
        : wrong(
            `writing: Drupal's JSON:API cannot create ${bundle}, as the key uuid of its entity type is called ${uuidKey}`,
            NO_CREATE
          )
    } else if (isDenied && isAnonymous) {
      yield unchecked(
        `writing: who may create ${bundle}`,
        'anonymous may not, others were not asked'
      )
    } else if (isDenied) {
      yield wrong(
        `writing: ${name} may not create ${bundle} (${failure.message})`,
        'give the user the permission if Quoin is to create editions'
      )
    } else yield cmsAdvice(failure, '')
  }
}
