/** A difference from core REST in writing that is meant. */
export interface Deliberate {
  name: string
  reason: string
  /** Matches method and name of the bodies it concerns. */
  bodies: RegExp
  /** Statuses of core REST and of Quoin. */
  core: number[]
  ours: number[]
  /** Quoin's message, where it refuses. */
  message?: RegExp
}

const notObjects = /an empty body|malformed JSON|a control character|a JSON (?:list|string|number)|an empty JSON list|JSON null$/

/** Every difference in status, message or outcome that the bodies meet; the first that fits counts. */
export const deliberate: Deliberate[] = [
  {
    name: 'no JSON object',
    reason: 'what is no JSON object is refused in the words of the service, whoever asks; core answers 500 to some',
    bodies: notObjects,
    core: [400, 401, 403, 422, 500],
    ours: [400],
    message: /^(?:body must be object|Body is not valid JSON but content-type is set to 'application\/json')$/
  },
  {
    name: 'stale edit',
    reason: 'another `changed` than the present one is a stale edit, and said so to the editor',
    bodies: /^PATCH (?:the save: changed given|many at once: stale and a violation)$/,
    core: [403],
    ours: [409],
    message: /^Somebody else has saved this edition/
  },
  {
    name: 'contradiction',
    reason: 'a bundle and an edition type that contradict each other are a mistake, which core saves',
    bodies: /^POST /,
    core: [201, 401, 403, 422],
    ours: [422],
    message: /The edition type ".*" contradicts the bundle ".*"\.\n$/
  },
  {
    name: 'body before rights',
    reason: 'what Quoin refuses by itself of a create it refuses whoever asks',
    bodies: /^POST /,
    core: [401, 403],
    ours: [403, 409, 422],
    message:
      /^(?:Unprocessable Entity: validation failed\.\n.*(?:does not exist|correct primitive type)\.\n$|Field values for|Could not determine entity type bundle|"weekly" is not a valid bundle|The field ".*" (?:property|needs the property) "target_type"|No "" entity found|If provided "target_uuid"|Access denied on updating field '(?:id|uuid|changed)')/s
  },
  {
    name: 'unknown field',
    reason: 'core fails with 500',
    bodies: / unknown field: /,
    core: [500],
    ours: [403, 422],
    message:
      /^(?:The attribute .* does not exist on the|Field values for "nosuch"|The field "field_nosuch" needs|Access denied on (?:creating|updating) field 'id')/
  },
  {
    name: 'processed',
    reason: 'core saves a new edition with `processed` in a text and fails with 500; Quoin leaves it out',
    bodies: /^POST (?:text: with processed|a copy of a read edition)/,
    core: [500],
    ours: [201]
  },
  {
    name: 'core fails, Quoin knows better',
    reason:
      'core fails with 500: a uuid that is empty or in use, a revision id, a list of scalars for a time stamp, a value that is a list',
    bodies:
      /(?:identity: an empty uuid|identity: a uuid in use|the save: a revision id|created: a list of scalars|title: (?:a list|an object)|articles: a list)$/,
    core: [500],
    ours: [200, 201, 409, 422]
  },
  {
    name: 'both fail',
    reason: 'Drupal fails with 500 whichever way it is asked: the failure of a CMS is 502',
    bodies: /(?:status: (?:a null value|an empty list|null)|uid: an empty list|language: default_langcode false)$/,
    core: [500],
    ours: [502],
    message: /^The CMS failed to answer; nothing was saved$/
  },
  {
    name: 'milliseconds',
    reason: 'fractions of a second in time stamps are cut off, since JavaScript always writes them',
    bodies: / (?:created|time stamp): milliseconds$/,
    core: [422],
    ours: [200, 201]
  },
  {
    name: 'format of a time stamp',
    reason: "JSON:API knows no `format`: Quoin takes what JSON:API takes and refuses the rest in core's words",
    bodies: / (?:created|time stamp): a format of (?:its own|another kind)$/,
    core: [200, 201, 422],
    ours: [200, 201, 422],
    message: /^The specified date ".*" is not in an accepted format/
  },
  {
    name: 'bundle',
    reason: 'the bundle is not demanded in an update, is taken in every form, and derived from the edition type',
    bodies:
      / (?:the bundle (?:as an item|as a value|null|a number)|an empty bundle|no bundle|no bundle but an edition type|an empty object)$/,
    core: [422],
    ours: [200, 201]
  },
  {
    name: 'client-generated uuid',
    reason: 'JSON:API takes lowercase RFC 4122 uuids only; core 10 keeps any text, core 11 refuses what is no uuid in other words',
    bodies: /^POST identity: (?:an uppercase uuid|no uuid at all)$/,
    core: [201, 422],
    ours: [422],
    message: /^IDs should be properly generated and formatted UUIDs/
  },
  {
    name: 'no id',
    reason: 'core stores a reference to 0, and takes true for 1',
    bodies: / articles: (?:0|true)$/,
    core: [200, 201],
    ours: [422],
    message: /^Unprocessable Entity: validation failed\.\nfield_articles\.0\.target_id: /
  },
  {
    name: 'loose comparison',
    reason: "core compares true with anything by PHP's ==, finds nothing changed and saves nothing",
    bodies: /^PATCH (?:title: a boolean|page count: true)$/,
    core: [200],
    ours: [200, 422]
  },
  {
    name: 'unknown references first',
    reason: 'a reference to nothing cannot be sent to JSON:API, so it is told before what Drupal would say of the rest',
    bodies:
      / (?:articles: hidden and unknown|many at once: an unknown (?:reference and a violation|id and an unknown uuid|id and a bad date))$/,
    core: [422],
    ours: [422],
    message:
      /^Unprocessable Entity: validation failed\.\n(?:field_articles\.\d\.target_id: The referenced entity \(node: 99999\) does not exist\.\n)$/
  },
  {
    name: 'structure first',
    reason: 'a field that is a scalar is told before a date that is none; core goes by their order in the body',
    bodies: /^PATCH many at once: a bad date and a scalar$/,
    core: [422],
    ours: [422],
    message: /^Field values for "title" must use an array structure$/
  },
  {
    name: 'empty langcode',
    reason: 'core takes it for the default language and ignores it, JSON:API sees a change that nobody may make',
    bodies: /^PATCH language: an empty list$/,
    core: [200],
    ours: [403],
    message: /^Access denied on updating field 'langcode'\.$/
  },
  {
    name: 'copy of dangling references',
    reason: 'JSON:API does not tell their integer ids, so the copy has none',
    bodies: /^POST a copy of a read edition \(dangling\)$/,
    core: [422],
    ours: [201]
  },
  {
    name: 'dangling references as Quoin shows them',
    reason: 'Quoin shows them without an id, so it cannot say of which entity core speaks',
    bodies: /^PATCH an article more beside dangling references, as they are shown$/,
    core: [422],
    ours: [422],
    message: /The referenced entity is gone\. Drupal saves no changed list that still refers to it/
  }
]
