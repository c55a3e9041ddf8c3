import t from 'tap'
import { SettingsError } from '../../config/env.ts'
import { listening } from '../../config/listening.ts'

const settings = { HOST: '192.0.2.1', PORT: 80 }

t.test('a server that cannot listen says which setting is wrong', async (t) => {
  const refusals: Array<[syscall: string, code: string, setting: string]> = [
    ['listen', 'EADDRINUSE', 'PORT is "80"'],
    ['listen', 'EACCES', 'PORT is "80"'],
    ['listen', 'EADDRNOTAVAIL', 'HOST is "192.0.2.1"'],
    ['getaddrinfo', 'ENOTFOUND', 'HOST is "192.0.2.1"'],
    ['getaddrinfo', 'EAI_AGAIN', 'HOST is "192.0.2.1"']
  ]
  for (const [syscall, code, setting] of refusals) {
    const cause = Object.assign(new Error(`${syscall} ${code}`), { syscall, code })
    await t.rejects(
      listening(settings, () => Promise.reject(cause)),
      { problems: [`${setting} but ${syscall} ${code}`], cause },
      code
    )
  }
})

t.test('a server that listens says where, and other failures stay what they are', async (t) => {
  t.equal(await listening(settings, async () => 'http://192.0.2.1:80'), 'http://192.0.2.1:80')
  for (const failure of [
    new SettingsError(['METRICS_PORT is wrong']),
    Object.assign(new Error('open ENOENT'), { syscall: 'open', code: 'ENOENT' })
  ]) {
    await t.rejects(
      listening(settings, () => Promise.reject(failure)),
      failure
    )
  }
})
