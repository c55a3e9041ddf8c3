import { Type } from '@sinclair/typebox'
import { inGroup, setting } from '../config/setting.ts'

/** The settings that `npm run dev` alone has. */
export const DevEnvironment = inGroup('npm run dev', {
  DATA_DIR: setting(Type.String({ default: '.data' }), {
    description:
      'Where `npm run dev` keeps the locks of the embedded engine and the editions of the sample CMS, up to 64 MiB of them.',
    turn: 'two of them run at once.',
    allowed: 'the path of a directory, which need not exist'
  })
})
