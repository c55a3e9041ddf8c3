/** A bundle of the edition entity: how many editions it gets, and of which type when all are of one. */
export interface BundleNames {
  id: string
  label: string
  count: number
  editionType?: string
}

/** How a site is installed: what its scripts in ./php are given, and their names. */
export interface Recipe {
  id: string
  names: { jsonapiPath: string }
  structure: string
  content: string
  /** The installation profile of core, minimal unless told. */
  profile?: string
}

/** The names one variant of the test site uses; the PHP of ./php takes them as they are. */
export interface Names {
  module: string
  entityType: string
  bundleEntityType: string
  jsonapiPath: string
  bundles: BundleNames[]
  editionTypes: Record<string, string>
  article: string
  sections: string
  keys: Record<Key, string>
  fields: Record<Field, string>
}

export type Key =
  | 'id'
  | 'revision'
  | 'bundle'
  | 'label'
  | 'published'
  | 'owner'
  | 'created'
  | 'changed'
  | 'revisionUser'
  | 'revisionCreated'
  | 'revisionLog'

export type Field =
  | 'key'
  | 'editionType'
  | 'articles'
  | 'publicationDate'
  | 'publishedAt'
  | 'expires'
  | 'description'
  | 'link'
  | 'labels'
  | 'section'
  | 'featured'
  | 'pageCount'
  | 'price'
  | 'rating'
  | 'cover'
  | 'internalNote'

export type Variant = 'bundles' | 'single' | 'renamed'

const publisher: Names = {
  module: 'publisher',
  entityType: 'publisher_container',
  bundleEntityType: 'publisher_container_type',
  jsonapiPath: '/jsonapi',
  bundles: [
    { id: 'daily', label: 'Daily', count: 70, editionType: 'daily' },
    { id: 'special', label: 'Special', count: 20, editionType: 'special' },
    { id: 'publisher_container', label: 'Publisher container', count: 60 }
  ],
  editionTypes: { daily: 'Daily Editions', special: 'Special Editions' },
  article: 'article',
  sections: 'sections',
  keys: {
    id: 'id',
    revision: 'revision_id',
    bundle: 'type',
    label: 'title',
    published: 'status',
    owner: 'uid',
    created: 'created',
    changed: 'changed',
    revisionUser: 'revision_uid',
    revisionCreated: 'revision_timestamp',
    revisionLog: 'revision_log'
  },
  fields: {
    key: 'field_key',
    editionType: 'field_publisher_edition_type',
    articles: 'field_articles',
    publicationDate: 'field_publication_date',
    publishedAt: 'field_published_at',
    expires: 'field_expires',
    description: 'field_description',
    link: 'field_link',
    labels: 'field_labels',
    section: 'field_section',
    featured: 'field_featured',
    pageCount: 'field_page_count',
    price: 'field_price',
    rating: 'field_rating',
    cover: 'field_cover',
    internalNote: 'field_internal_note'
  }
}

/**
 * The variants of the test site: `bundles` has a bundle for each edition type (content model i) and one for both,
 * `single` has one bundle for both (model ii), `renamed` differs in every name and in the path of JSON:API.
 */
export const variants: Record<Variant, Names> = {
  bundles: publisher,
  single: {
    ...publisher,
    bundles: [{ id: 'publisher_container', label: 'Publisher container', count: 60 }]
  },
  renamed: {
    module: 'newsroom',
    entityType: 'issue_bundle',
    bundleEntityType: 'issue_kind',
    jsonapiPath: '/api/json',
    bundles: [
      { id: 'morning', label: 'Morning', count: 30, editionType: 'weekday' },
      { id: 'supplement', label: 'Supplement', count: 12, editionType: 'weekend' },
      { id: 'mixed', label: 'Mixed', count: 20 }
    ],
    editionTypes: { weekday: 'Weekday Issues', weekend: 'Weekend Issues' },
    article: 'story',
    sections: 'desks',
    keys: {
      id: 'iid',
      revision: 'vid',
      bundle: 'bundle',
      label: 'name',
      published: 'published',
      owner: 'author',
      created: 'opened',
      changed: 'modified',
      revisionUser: 'revision_author',
      revisionCreated: 'revision_time',
      revisionLog: 'revision_note'
    },
    fields: {
      key: 'field_code',
      editionType: 'field_kind',
      articles: 'field_stories',
      publicationDate: 'field_day',
      publishedAt: 'field_out_at',
      expires: 'field_until',
      description: 'field_blurb',
      link: 'field_url',
      labels: 'field_words',
      section: 'field_desk',
      featured: 'field_top',
      pageCount: 'field_pages',
      price: 'field_cost',
      rating: 'field_stars',
      cover: 'field_front',
      internalNote: 'field_memo'
    }
  }
}

/** The recipes of the variants. */
export function recipeOf(variant: Variant): Recipe {
  return { id: variant, names: variants[variant], structure: 'structure.php', content: 'content.php' }
}
