import neostandard from 'neostandard'

export default neostandard({
  ts: true,
  ignores: ['.tap/**', '.data/**', 'test/drupal/site/**']
})
