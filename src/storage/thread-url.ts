import { basename, extname } from "node:path"

/** Where the files of a program that `bun build --compile` made begin. */
const COMPILED = "/$bunfs/root/"

/**
 * Where the module of a thread is: in `src/`, in `dist/` under another ending, and in a compiled binary, where the modules of
 * threads lie beside the program, see scripts/build-binary.ts.
 *
 * @param module relative to the module that names it, without an ending
 * @param from `import.meta` of that module
 */
export function threadUrl(module: string, from: { readonly url: string; readonly path: string }): URL {
  return isCompiled(from)
    ? new URL(`file://${COMPILED}${basename(module)}.js`)
    : new URL(module + extname(from.path), from.url)
}

/** Whether a module is part of a compiled binary. */
export const isCompiled = ({ path }: { readonly path: string }): boolean => path.startsWith(COMPILED)
