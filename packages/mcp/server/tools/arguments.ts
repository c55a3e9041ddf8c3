import { Type } from '@sinclair/typebox'

export const EditionId = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "The edition's integer id or its uuid"
})
