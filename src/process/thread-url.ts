import { basename, extname } from "node:path"

/** Root of a program made by `bun build --compile`. */
const COMPILED = "/$bunfs/root/"

/**
 * URL of a thread's module: in `src/` and `dist/` with the ending of `from`, in a compiled binary next to the program
 * (scripts/build-binary.ts).
 *
 * @param module path from the module that names it, without ending
 * @param from `import.meta` of that module
 */
export function threadUrl(module: string, from: { readonly url: string; readonly path: string }): URL {
  return isCompiled(from)
    ? new URL(`file://${COMPILED}${basename(module)}.js`)
    : new URL(module + extname(from.path), from.url)
}

const isCompiled = ({ path }: { readonly path: string }): boolean => path.startsWith(COMPILED)
