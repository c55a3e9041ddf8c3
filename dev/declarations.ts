import { join, relative, resolve } from 'node:path'
import ts from 'typescript'

const ROOT = resolve(import.meta.dirname, '..')

/** What a host imports. */
const ENTRY = 'app.ts'

/**
 * Writes the type declarations of the package: those that the entry's reach, and no others. A host
 * that compiles with all of a package's types checked would otherwise have those of every plugin,
 * which say what Quoin's own instances have.
 */
function writeDeclarations(): void {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.build.json'), ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const program = ts.createProgram(fileNames, { ...options, declaration: true })
  const paths = [join(ROOT, ENTRY)]
  for (const path of paths) {
    const { diagnostics } = program.emit(
      program.getSourceFile(path),
      (output, text) => {
        ts.sys.writeFile(output, text)
        for (const { fileName } of ts.preProcessFile(text).importedFiles) {
          const target = ts.resolveModuleName(
            fileName.replace(/\.js$/, '.ts'),
            path,
            options,
            ts.sys
          ).resolvedModule
          if (
            target &&
            !target.isExternalLibraryImport &&
            !paths.includes(target.resolvedFileName)
          ) {
            paths.push(target.resolvedFileName)
          }
        }
      },
      undefined,
      true
    )
    const [problem] = diagnostics
    if (problem) {
      throw new Error(
        `${relative(ROOT, path)}: ${ts.flattenDiagnosticMessageText(problem.messageText, '\n')}`
      )
    }
  }
  console.log(`Declarations of ${paths.map((path) => relative(ROOT, path)).join(', ')}`)
}

writeDeclarations()
