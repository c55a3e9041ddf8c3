import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunningSite } from './site.ts'

/**
 * Enables Quoin's module on a site, as who installs it does.
 * @param settings what goes into `$settings['quoin']` of settings.php
 */
export async function enableModule(site: RunningSite<unknown>, settings: Record<string, unknown> = {}): Promise<void> {
  const given = Buffer.from(JSON.stringify(settings)).toString('base64')
  appendFileSync(join(site.root, 'sites/default/settings.php'), `\n$settings['quoin'] = json_decode(base64_decode('${given}'), TRUE);\n`)
  await site.php("\\Drupal::service('module_installer')->install(['quoin']); drupal_flush_all_caches();")
}
