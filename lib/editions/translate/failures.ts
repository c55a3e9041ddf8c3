import { Failure, texts } from '../../errors.ts'
import type { JsonapiAnswer } from '../../drupal/client.ts'
import { scalarText, type Document, type ErrorObject } from '../../drupal/document.ts'
import { otherLanguages } from '../../drupal/languages.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'

/** One violation of a constraint: the property path as core REST gives it, and its text. */
export interface Violation {
  path: string
  message: string
}

/**
 * How many characters of an error of the CMS are read and repeated. Drupal's longest errors have
 * some hundreds.
 */
const DETAIL_MAX = 10_000

const ACCESS =
  /^The current user is not allowed to (POST|PATCH) the selected field \((?:drupal_internal__)?(.+?)\)\.\s*(.*)$/s
const NO_ACCESS_TO_RESOURCE =
  /^The current user is not allowed to GET the selected resource\.\s+(?=\S)/
const UNKNOWN_REFERENCE =
  /^The resource identified by `[^:]+:(.*?)` \(given as a relationship item\) could not be found\.$/
const READ_ONLY = /only read operations/
const WORKING_COPY = /working copy/
const NO_SUCH_FIELD =
  /^Invalid nested filtering\. The field `[^`]+`, given in the path `[^`]+`, does not exist\.$/
const REFUSED_PATH = /, given in the path `([^`]+)`/
/** The code of the module's error of a revision that was saved again. */
const SAVED_IN_PLACE = '1'
const MODIFIED = /The content has either been modified by another user/

/**
 * Translates a refusal of JSON:API to the failure that core REST would answer with, its words
 * included.
 * Sources: Drupal\jsonapi\Controller\EntityResource (texts),
 * Drupal\rest\Plugin\rest\resource\EntityResource and EntityResourceValidationTrait (their twins).
 * Total: takes any status from 400 to 499 and any errors.
 * @param body of a write, to name the position of an item
 */
export function refusal(
  { status, document, challenge }: JsonapiAnswer,
  body: EditionJson = {}
): Failure {
  const { errors = [] } = document
  const details = errors.map(detailOf).filter(Boolean)
  const detail = details.join('\n')
  // The log has it; a detail may repeat what was sent.
  const cause = new Error(
    `the CMS answered ${status}: ${errors
      .map(({ title }) => scalarText(title))
      .join(', ')
      .slice(0, DETAIL_MAX)}`
  )
  const [, path] = REFUSED_PATH.exec(detail) ?? []
  if (path !== undefined) Object.assign(cause, { refusedPath: path })
  switch (status) {
    case 401:
      return new Failure('CMS_UNAUTHORIZED', detail || 'The CMS wants to know who is asking', {
        cause,
        headers: { 'www-authenticate': challenge ?? 'Basic' }
      })
    case 403:
      return new Failure('CMS_FORBIDDEN', forbidden(detail), { cause })
    case 404:
      return UNKNOWN_REFERENCE.test(detail)
        ? unknownReference(detail, body, cause)
        : new Failure('NOT_FOUND', 'There is no such edition', { cause })
    case 409:
      return new Failure('CONFLICT', detail || 'The CMS sees a conflict', { cause })
    case 422:
      return unprocessable(errors, detail, cause)
    case 405:
      if (READ_ONLY.test(detail)) {
        return new Failure('CMS_READ_ONLY', texts.cmsReadOnly, { cause })
      }
      return refusedMethod(otherLanguages(errors), status, cause)
    case 400:
      if (WORKING_COPY.test(detail)) {
        return new Failure('CONFLICT', texts.unpublishedDraft, { cause })
      }
      Object.assign(cause, { lacksField: NO_SUCH_FIELD.test(detail) })
  }
  return refusedRequest(status, cause)
}

/**
 * Whether Drupal refused a filter because the bundle does not have the field.
 * Source: Drupal\jsonapi\Context\FieldResolver::resolveInternalEntityQueryPath().
 */
export function isWithoutField({ cause }: Pick<Failure, 'cause'>): boolean {
  return (cause as { lacksField?: boolean } | undefined)?.lacksField === true
}

/**
 * The path of a filter or sort that Drupal refused, as it names it: by the public name where there
 * is no such field or it has several properties, by the internal one where the caller may not see
 * it.
 * Source: Drupal\jsonapi\Context\FieldResolver::resolveInternalEntityQueryPath().
 */
export function refusedPath({ cause }: Pick<Failure, 'cause'>): string | undefined {
  return (cause as { refusedPath?: string } | undefined)?.refusedPath
}

function refusedRequest(status: number, cause: Error): Failure {
  return new Failure('CMS_REFUSED', `The CMS refused the request with status ${status}`, { cause })
}

/** @param languages that Drupal names where the one of the path is wrong */
function refusedMethod(languages: string | undefined, status: number, cause: Error): Failure {
  if (languages === undefined) return refusedRequest(status, cause)
  return new Failure(
    'CMS_REFUSED',
    `Drupal changes this edition only in a language that it has (${languages}): name the prefixes of the site's languages in the content model (languages)`,
    { cause }
  )
}

/**
 * Whether an update was refused because its revision or its `changed` is not the present one: at
 * once, or when Drupal validated it after another process had saved. Sources:
 * packages/drupal-module/quoin/src/RevisionPrecondition.php,
 * Drupal\Core\Entity\Plugin\Validation\Constraint\EntityChangedConstraint.
 */
export function isStale(
  { status, document }: JsonapiAnswer,
  changedField: string | undefined
): boolean {
  const pointer = `/data/attributes/${changedField}`
  const isOfChanged = (error: ErrorObject) =>
    (status === 403 && error.source?.pointer === pointer) ||
    (status === 422 && MODIFIED.test(detailOf(error)))
  return status === 412 || (document.errors ?? []).some(isOfChanged)
}

/** Whether an update was refused because the edition has a draft that is not published. */
export function isOfDraft({ status, document }: JsonapiAnswer): boolean {
  return status === 400 && WORKING_COPY.test(firstDetail(document))
}

/**
 * Whether an update was refused because its revision was saved again since it was made, so that it
 * names no single state. Source: packages/drupal-module/quoin/src/RevisionPrecondition.php.
 */
export function isOfReused({ status, document: { errors = [] } }: JsonapiAnswer): boolean {
  return status === 412 && errors.some(({ code }) => code === SAVED_IN_PLACE)
}

/**
 * Whether Drupal refuses an empty document because of the document: it would let its sender change
 * the entity then.
 */
export function saysEditable({ status }: Pick<JsonapiAnswer, 'status'>): boolean {
  return status === 400 || status === 409 || status === 422
}

/**
 * The field and those of its properties that Drupal refused since it does not know them. Core REST
 * ignores such properties.
 * Source: Drupal\jsonapi\Normalizer\FieldItemNormalizer::denormalize().
 */
export function unknownProperties({
  status,
  document
}: JsonapiAnswer): { field: string; properties: string[] } | undefined {
  if (status !== 422) return undefined
  const [, properties, field] =
    /^The propert(?:y|ies) '(.+?)' do(?:es)? not exist on the '(.+?)' field/s.exec(
      firstDetail(document)
    ) ?? []
  return properties !== undefined && field !== undefined
    ? { properties: properties.split("', '"), field }
    : undefined
}

/**
 * Whether a write was refused for an attribute: it does not exist, or the caller may not set it, or
 * not to this value.
 */
export function isAbout({ document: { errors = [] } }: JsonapiAnswer, name: string): boolean {
  return errors.some(
    (error) =>
      scalarText(error.source?.pointer).split('/')[3] === name ||
      detailOf(error).startsWith(`The attribute ${name} does not exist `)
  )
}

/**
 * The relationship that Drupal does not include, or the path of several: a field is gone, is no
 * relationship, or there is no bundle that it may refer to. Drupal looks at `include` only when it
 * makes the answer; a write is saved by then.
 * Source: Drupal\jsonapi\Context\FieldResolver::resolveInternalIncludePath().
 */
export function notIncludable({ status, document }: JsonapiAnswer): string | undefined {
  return status === 400
    ? /^`([^`]+)` is not a valid (?:relationship field name|include path)/.exec(
        firstDetail(document)
      )?.[1]
    : undefined
}

function detailOf({ detail }: ErrorObject): string {
  return scalarText(detail).slice(0, DETAIL_MAX)
}

function firstDetail({ errors: [first = {}] = [] }: Document): string {
  return detailOf(first)
}

function forbidden(detail: string): string {
  const [, method, field, reason] = ACCESS.exec(detail) ?? []
  if (method === 'POST') return `Access denied on creating field '${field}'.`
  if (method === 'PATCH') {
    return `Access denied on updating field '${field}'.${reason ? ` ${reason}` : ''}`
  }
  return detail.replace(NO_ACCESS_TO_RESOURCE, '') || 'Access denied'
}

/** The uuid of a reference for which Drupal refused a write, since it does not find the entity. */
export function lostReference({ status, document }: JsonapiAnswer): string | undefined {
  return status === 404 ? UNKNOWN_REFERENCE.exec(firstDetail(document))?.[1] : undefined
}

function unknownReference(detail: string, body: EditionJson, cause: Error): Failure {
  const [, uuid = ''] = UNKNOWN_REFERENCE.exec(detail)!
  const items =
    Object.values(body).find((items) => items.some((item) => item.target_uuid === uuid)) ?? []
  const delta = Math.max(
    0,
    items.findIndex((item) => item.target_uuid === uuid)
  )
  return unknownUuid({ ...items[delta], target_uuid: uuid }, delta, cause)
}

/**
 * In core's words, which name the entity type only where the item does, and have the item's
 * position in place of its field.
 * Source: Drupal\serialization\Normalizer\EntityReferenceFieldItemNormalizer::constructValue().
 */
export function unknownUuid(
  { target_type: type, target_uuid: uuid }: FieldItem,
  delta: number,
  cause?: Error
): Failure {
  const [entityType, name] = [type ?? '', uuid].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value)
  )
  return new Failure(
    'UNPROCESSABLE',
    `No "${entityType}" entity found with UUID "${name}" for field "${delta}".`,
    { cause }
  )
}

function unprocessable(errors: ErrorObject[], detail: string, cause: Error): Failure {
  const violations = errors.filter(({ source }) => source?.pointer !== undefined).map(violation)
  if (violations.length === 0) {
    return new Failure('UNPROCESSABLE', detail || 'The CMS could not process the edition', {
      cause
    })
  }
  return invalid(violations, cause)
}

/**
 * A failed validation in core's words. Source:
 * Drupal\rest\Plugin\rest\resource\EntityResourceValidationTrait.
 */
export function invalid(violations: Violation[], cause?: Error): Failure {
  return new Failure('UNPROCESSABLE', texts.invalid(violations), { cause, details: { violations } })
}

/**
 * Unlike core REST, JSON:API describes a violation of a whole edition in HTML. Source:
 * Drupal\jsonapi\Normalizer\UnprocessableHttpEntityExceptionNormalizer.
 */
function violation(error: ErrorObject): Violation {
  const detail = detailOf(error)
  const [, ofEntity] = /^Entity is not valid: (.*)$/s.exec(detail) ?? []
  if (ofEntity !== undefined) return { path: '', message: plainText(ofEntity) }
  const [, path = '', message = detail] = /^([\w.]*): (.*)$/s.exec(detail) ?? []
  return { path, message }
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00A0' }

/**
 * The text of HTML as Drupal translates messages to. Source:
 * Drupal\Component\Render\PlainTextOutput (tags first, then entities).
 */
function plainText(html: string): string {
  return html
    .replace(/<(?!\s)[^<>]*>/g, '')
    .replace(
      /&(?:#[xX]([\da-fA-F]{1,5})|#(\d{1,6})|(amp|lt|gt|quot|nbsp));/g,
      (_, hex?: string, decimal?: string, name = '') =>
        hex
          ? String.fromCodePoint(Number.parseInt(hex, 16))
          : decimal
            ? String.fromCodePoint(Number(decimal))
            : ENTITIES[name]!
    )
}
