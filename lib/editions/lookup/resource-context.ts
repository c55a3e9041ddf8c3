import { publicName, publicNames } from '../model.ts'
import type { Site } from '../site/site.ts'
import type { IncludeMemory } from './include.ts'
import { createRoom, type Room } from './room.ts'

/**
 * What an edition is read for: `bare` without the urls of its references, which Drupal answers
 * sooner; `anew` the same, and not by a read that began before; `latest` the same again, by the
 * name of its latest version where the type has revisions. Drupal caches what it shows by that name
 * apart, so no other reader leaves an earlier state there (site/revisions.ts). `draft` reads the
 * latest revision, published or not, with its urls, and not by a read that began before.
 */
export type Purpose = 'edition' | 'bare' | 'anew' | 'latest' | 'draft'

/** What the verbs of `Resources` (resources.ts) work with: a site, and what they remember of it. */
export interface ResourceContext extends Site {
  /** The attribute with the integer id of an edition. */
  idAttribute: string
  /** How long the URLs of requests may be. */
  room: Room
  /** What requests included last. */
  includes: IncludeMemory
  /** The languages in which originals are looked for. */
  languages: string[]
  /** The attributes of editions that every request for targets names beside the relationships. */
  ownAttributes: string[]
}

/** In how many languages Quoin looks for an original: the first ones of the content model. */
const LANGUAGES = 5

export function createResourceContext(site: Site): ResourceContext {
  const { model } = site
  const { id, revision, langcode, defaultLangcode } = model.keys
  return {
    ...site,
    idAttribute: publicName(model, id),
    room: createRoom(),
    includes: new WeakMap(),
    languages: Object.keys(model.languages ?? {}).slice(0, LANGUAGES),
    ownAttributes: [
      // Drupal completes what it has normalized of an earlier revision, and would show that as the
      // present one.
      ...publicNames(model, revision),
      // The url of an edition that another edition refers to is made of these.
      ...(model.languages ? publicNames(model, 'path', langcode, defaultLangcode) : [])
    ]
  }
}
