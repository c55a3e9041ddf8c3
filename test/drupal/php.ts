import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The PHP that runs the test sites. */
export const php = process.env['PHP_BINARY'] ?? 'php'

/** Settings every PHP process of a test site gets. */
export const phpOptions = [
  'memory_limit=512M',
  'display_errors=stderr',
  'log_errors=0',
  'date.timezone=UTC',
  'sendmail_path=/bin/true'
].flatMap((option) => ['-d', option])

/** The path of one of the scripts in ./php. */
export function script(name: string): string {
  return fileURLToPath(new URL(`php/${name}`, import.meta.url))
}

/** Runs a command to its end and gives what it printed; throws, with all of its output, when it fails. */
export function run(
  command: string,
  args: string[],
  options: { cwd: string; input?: string; env?: Record<string, string> }
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env: { ...process.env, ...options.env } })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      out += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      err += chunk
    })
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(out)
      else reject(new Error(`${command} ${args.at(-1)} ended with ${code}:\n${out}${err}`))
    })
  })
}

/** Runs PHP code as user 1 in the booted site of a web root; gives what it printed or, as JSON, returned. */
export function runInSite(web: string, code: string, url = 'http://127.0.0.1/'): Promise<string> {
  return run(php, [...phpOptions, script('run.php')], { cwd: web, input: code, env: { SITE_URL: url } })
}
