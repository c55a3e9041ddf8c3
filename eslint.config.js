import neostandard from 'neostandard'

export default [
  // Prettier formats: .prettierrc.json.
  ...neostandard({
    ts: true,
    noStyle: true,
    ignores: [
      '.tap/**',
      '.data/**',
      '**/dist/**',
      'packages/drupal-module/build/**',
      'test/drupal/site/**'
    ]
  }),
  // A schema and its type share one name.
  { files: ['**/*.ts'], rules: { '@typescript-eslint/no-redeclare': 'off' } },
  // A run of the tests is the same every time: their fast-check has a seed.
  {
    files: ['test/**', 'packages/*/test/**'],
    ignores: ['test/fixtures/property.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        { name: 'fast-check', message: 'Import test/fixtures/property.ts, which sets its seed.' }
      ]
    }
  }
]
