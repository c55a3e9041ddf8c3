import { Failure } from '../../errors.ts'

/**
 * The result of work that follows the nesting of the CMS's values, such as JSON.stringify. JSON.parse takes values of any
 * depth, but the stack of such work ends after some thousand levels.
 * @throws {Failure} CMS_INVALID_RESPONSE where they are nested too deep, or make too long a text
 */
export function withinDepth<T> (work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('CMS_INVALID_RESPONSE', 'The CMS answered with an edition whose values are nested too deep', { cause: error })
  }
}
