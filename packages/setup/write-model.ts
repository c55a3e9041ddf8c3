import { type Ask } from './survey/ask.ts'
import { candidatesIn, type Candidate } from './survey/candidates.ts'
import { modelText } from './survey/file.ts'
import type { Member } from './survey/member.ts'
import { USUAL_LANGUAGES } from './survey/places.ts'
import { proposeBundles, type BundleProposal } from './survey/bundles.ts'
import { surveySite, type AskPath, type BundleChoice } from './survey/survey.ts'
import { Failure } from '../../lib/errors.ts'
import { ok, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { openSite, type SiteToAsk } from './site.ts'
import { cmsAdvice } from './doctor/advice.ts'

export interface ModelToWrite extends SiteToAsk {
  /** The entity type of editions, if it was named. */
  entityType?: string
  /** Asks a person which of several candidates it is; undefined where nobody can be asked. */
  choose: (candidates: Candidate[]) => Promise<string | undefined>
  /** The bundles that are editions, if they were named. */
  bundles?: string[]
  /** Asks a person which bundles are editions; undefined where nobody can be asked. */
  chooseBundles: (proposal: BundleProposal) => Promise<string[] | undefined>
  /** Asks a person for a path that cannot be guessed. */
  askPath?: AskPath
  /** Where the file's JSON Schema is, relative to the file. */
  schema: string
  /** Writes the file. */
  write: (text: string) => void
}

/**
 * Asks a Drupal for its content model and writes it; says what it saw, what it guessed, and what it
 * could not see.
 */
export async function* writeModel({
  entityType,
  choose,
  bundles,
  chooseBundles,
  askPath,
  schema,
  write,
  ...site
}: ModelToWrite): AsyncGenerator<Diagnosis> {
  try {
    const { ask, name, collections } = yield* openSite(site, 'model')
    const typeName = yield* editionType(ask, collections, entityType, choose)
    if (typeName === undefined) return
    const choice = yield* editionBundles(ask, typeName, collections, { bundles, chooseBundles })
    if (choice === 'unknown') return
    const { members, editions } = await surveySite(
      ask,
      typeName,
      collections,
      USUAL_LANGUAGES,
      choice,
      askPath
    )
    const hiddenNote =
      editions.hidden > 0
        ? `, ${editions.hidden} more are hidden${editions.permission === undefined ? '' : ` ('${editions.permission}' would show them)`}`
        : ''
    const what = `editions: ${name} sees ${editions.seen} on the first pages${hiddenNote}`
    yield editions.seen > 0
      ? ok(what)
      : unchecked(what, 'so most names are not known, and have their defaults')
    for (const member of members) yield diagnose(member)
    write(
      modelText(members, {
        schema,
        comment: `Written by \`quoin model\`, from what ${site.url} shows to ${name}.`
      })
    )
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    yield cmsAdvice(error, site.url)
    yield unchecked('the content model', 'correct the above first; no file is written')
  }
}

/**
 * The entity type of editions: the one that was named, the one there is, or the one that somebody
 * chooses.
 */
async function* editionType(
  ask: Ask,
  collections: Parameters<typeof candidatesIn>[1],
  entityType: string | undefined,
  choose: ModelToWrite['choose']
): AsyncGenerator<Diagnosis, string | undefined> {
  if (entityType !== undefined) {
    if (collections.some((collection) => collection.entityType === entityType)) return entityType
    yield wrong(
      `entity type: JSON:API has no ${entityType}`,
      `it has ${[...new Set(collections.map((collection) => collection.entityType))].join(', ')}`
    )
    return undefined
  }
  const candidates = await candidatesIn(ask, collections)
  if (candidates.length === 1) return candidates[0]!.entityType
  if (candidates.length === 0) {
    yield wrong(
      'entity type: JSON:API shows no content that could be editions',
      'give the account the permission to view them, or name it: --entity-type=<name>'
    )
    return undefined
  }
  const choice = await choose(candidates)
  if (choice !== undefined) return choice
  yield wrong(
    `entity type: it may be ${candidates.map(describeCandidate).join(', ')}`,
    'name it: --entity-type=<name>'
  )
  return undefined
}

/**
 * The bundles that are editions: those that were named, or that somebody chooses, or else that look
 * like it; undefined where each bundle is one.
 */
async function* editionBundles(
  ask: Ask,
  entityType: string,
  collections: Parameters<typeof candidatesIn>[1],
  {
    bundles,
    chooseBundles
  }: { bundles: string[] | undefined } & Pick<ModelToWrite, 'chooseBundles'>
): AsyncGenerator<Diagnosis, BundleChoice | 'unknown' | undefined> {
  const names = collections
    .filter((collection) => collection.entityType === entityType)
    .map(({ bundle }) => bundle)
  const proposal = bundles ? undefined : await proposeBundles(ask, entityType, collections)
  if (!bundles && !proposal) return undefined
  const named = bundles ?? (await chooseBundles(proposal!))
  const unknown = named?.filter((name) => !names.includes(name)) ?? []
  if (unknown.length > 0) {
    yield wrong(`bundles: ${entityType} has no ${unknown.join(', ')}`, `it has ${names.join(', ')}`)
    return 'unknown'
  }
  if (named && named.length > 0) {
    return { bundles: named, certainty: 'shown', why: 'whoever wrote this file named them' }
  }
  const { editions, why } = proposal!
  if (editions.length === 0) {
    yield wrong(
      `bundles: of ${names.join(', ')} any may be editions or articles, as ${why}`,
      'name those that are editions: --bundles=<name>,<name>'
    )
    return 'unknown'
  }
  return {
    bundles: editions,
    certainty: 'guessed',
    why: `${why}; --bundles=<name>,<name> names others`
  }
}

/** A candidate, for a person who chooses. */
export function describeCandidate({ entityType, bundles, holdsNodes }: Candidate): string {
  const names = bundles.join() === entityType ? '' : ` (${bundles.join(', ')})`
  return `${entityType}${names}${holdsNodes ? ', which holds nodes' : ''}`
}

function diagnose({ name, value, certainty, why }: Member): Diagnosis {
  if (certainty === 'hidden') return unchecked(name, why)
  const what = `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
  return certainty === 'shown' ? ok(what) : unchecked(what, `guessed: ${why}`)
}
