import Fastify from 'fastify'
import { standalone } from '../../app.ts'
import { readConfig } from '../../config/env.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { answer } from '../../plugins/app/errors.ts'
import { createTally, differences, expected } from './compare.ts'

/** How many of the newest editions are compared. */
const EDITIONS = 200

/**
 * Compares what Quoin and core REST say of the newest editions of a site, by GET alone, and prints the result.
 * @param env the settings of the service: CMS_URL, CONTENT_MODEL and so on; CMS_USER and CMS_PASSWORD are sent as the
 *   caller's own, without them it is anonymous
 * @returns whether there was anything to compare and no difference
 */
export async function compareReadOnly(env: Record<string, string | undefined>): Promise<boolean> {
  const { CMS_AUTH: _, CMS_USER: user, CMS_PASSWORD: password, ...settings } = env
  const config = readConfig({ ENVIRONMENT: 'test', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', ...settings })
  const headers = user && password ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } : {}
  const { entityType, keys } = config.contentModel
  const quoin = Fastify({ ...fastifyOptions, logger: false, frameworkErrors: answer })
  await quoin.register(standalone, { config })
  try {
    const listed = await quoin.inject({ url: `/api/collections/${entityType}?limit=${EDITIONS}`, headers })
    if (listed.statusCode !== 200) throw new Error(`Quoin cannot list editions: ${listed.json().message}`)
    const tally = createTally()
    for (const {
      [keys.id]: [{ value: id }]
    } of listed.json().data) {
      const response = await fetch(`${config.cms.url}/${entityType}/${id}?_format=json`, { headers })
      if (response.status === 406 || response.status === 404) {
        throw new Error(
          `core REST does not answer GET /${entityType}/{id}: is the REST resource of ${entityType} on, with GET, the format json and basic_auth?`
        )
      }
      const rest = { status: response.status, body: (await response.json()) as any }
      const ours = await quoin.inject({ url: `/api/collection/${id}`, headers })
      // Whether the caller may see a target is not asked of the site: where Quoin gives a canonical path, an alias is forgiven.
      const tellsAlias = async (entityTypeOfTarget: string, uuid: string) =>
        !ours.body.includes(`"target_uuid":"${uuid}","url":"/${entityTypeOfTarget.replace('_', '/')}/`)
      const wanted = rest.status === 200 ? { ...rest, body: await expected(rest.body, tally, tellsAlias) } : rest
      tally.comparisons++
      tally.differences.push(...differences(wanted, { status: ours.statusCode, body: ours.json() }).map((line) => `${id}: ${line}`))
    }
    for (const line of tally.differences) console.log(line)
    for (const [name, times] of tally.known) console.log(`known: ${name}: ${times}`)
    console.log(
      `${config.cms.url} as ${user ?? 'anonymous'}: ${tally.comparisons} editions compared, ${tally.differences.length} differences`
    )
    return tally.comparisons > 0 && tally.differences.length === 0
  } catch (error) {
    console.error((error as Error).message)
    return false
  } finally {
    await quoin.close()
  }
}
