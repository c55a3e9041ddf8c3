import neostandard from 'neostandard'

export default [
  ...neostandard({ ts: true, ignores: ['.tap/**', '.data/**', 'dist/**', 'test/drupal/site/**'] }),
  // A schema and its type share one name.
  { files: ['**/*.ts'], rules: { '@typescript-eslint/no-redeclare': 'off' } }
]
