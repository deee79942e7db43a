import { Glob } from "bun"
import { dirname, join, normalize } from "node:path"
import { parseSync } from "oxc-parser"

/** A file of the source, and what it says of others. Paths are relative to the checkout. */
export interface Source {
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  /** Names that it exports, those of other files that it hands on included. */
  readonly exports: readonly string[]
  /** The text without comments. */
  readonly code: string
  /** Doc comments, each with the first line of what it describes. */
  readonly docs: readonly { readonly text: string; readonly of: string }[]
}

export interface Import {
  readonly path: string
  /** `*` for all of a module; empty: unknown, as of `import()`. */
  readonly names: readonly string[]
}

const IN_TYPES_AND_LATE = /\bimport\(\s*["'](\.[^"']+)["']/g

/** Reads the files of src, console and scripts that are neither tests nor generated. */
export async function readSources(root: string): Promise<ReadonlyMap<string, Source>> {
  const sources = new Map<string, Source>()
  for (const path of [...new Glob("{src,console,scripts}/**/*.{ts,tsx}").scanSync(root)].toSorted()) {
    if (path.includes("node_modules/") || path.includes(".test.") || GENERATED.has(path)) continue
    sources.set(path, readSource(path, await Bun.file(join(root, path)).text()))
  }
  return sources
}

/** They list every option and route there is. */
const GENERATED: ReadonlySet<string> = new Set(["src/runtime/typed-options.ts", "console/api.ts"])

/** Reads one. @throws Error when it is no TypeScript */
export function readSource(path: string, text: string): Source {
  const { module, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const imports: Import[] = []
  const exports: string[] = []
  const add = (request: string, names: readonly string[]): void => {
    if (request.startsWith(".")) imports.push({ path: normalize(join(dirname(path), request)), names })
  }
  for (const { moduleRequest, entries } of module.staticImports)
    add(
      moduleRequest.value,
      entries.map(({ importName: { kind, name } }) =>
        kind === "Name" ? name! : kind === "Default" ? "default" : "*",
      ),
    )
  for (const { exportName, importName, moduleRequest } of module.staticExports.flatMap(
    ({ entries }) => entries,
  )) {
    if (exportName.name !== null) exports.push(exportName.name)
    if (moduleRequest) add(moduleRequest.value, [importName.name ?? "*"])
  }
  const code = without(comments, text)
  for (const [, request] of code.matchAll(IN_TYPES_AND_LATE)) add(request!, [])
  const docs = comments
    .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
    .map(({ value, end }) => ({
      text: value.replace(/^[\s*]+/, ""),
      of: text.slice(end).trimStart().split("\n", 1)[0]!,
    }))
  return { path, lines: text.split("\n").length - 1, imports, exports, code, docs }
}

function without(comments: readonly { start: number; end: number }[], text: string): string {
  let at = 0
  let code = ""
  for (const { start, end } of comments) {
    code += text.slice(at, start)
    at = end
  }
  return code + text.slice(at)
}
