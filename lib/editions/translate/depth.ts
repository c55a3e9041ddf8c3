import { Failure } from '../../errors.ts'

/**
 * Does work that recurses into values of the CMS, such as JSON.stringify. JSON.parse takes any depth, but the stack of such
 * work ends after some thousand levels.
 * @throws {Failure} CMS_INVALID_RESPONSE where the values are nested too deep, or their text is too long
 */
export function withinDepth<T> (work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('CMS_INVALID_RESPONSE', 'The CMS answered with an edition whose values are nested too deep', { cause: error })
  }
}
